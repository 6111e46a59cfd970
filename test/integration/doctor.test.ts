/**
 * `deckhand doctor` on a real node, typed as an operator would: first on a sound node with what this machine really
 * lacks, beside its agent and without it. Then the node is really broken in one way after another; each problem is
 * named, and disappears once it is repaired.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { makeSelfSigned } from "../../src/controllers/identity/self-signed.ts";
import type { Finding, FindingName } from "../../src/domain/doctor/finding.ts";
import { KERNEL_TUNABLES } from "../../src/domain/host/kernel-tunables.ts";
import { hostClock } from "../../src/wire/host/clock.ts";
import { hostKeys } from "../../src/wire/host/keys.ts";
import { hostRandom } from "../../src/wire/host/random.ts";
import { inRepository } from "../../tools/repository.ts";
import { writeKubeconfig } from "../cluster/certificates.ts";
import { type Cluster, type ClusterNode, type Component, startCluster } from "../cluster/cluster.ts";
import { behindOwnKernel } from "../cluster/own-kernel.ts";
import { waitUntil } from "../cluster/wait.ts";
import { builtBundle } from "../support/built-program.ts";

/** The command lines in the documents. */
const LINES = ["README.md", "docs/doctor.md"].flatMap((page) =>
  readFileSync(inRepository(page), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("deckhand doctor ")),
);
/** What the machines of the tests may lack, and a node in a box cannot hide. Doctor rightly reports it. */
const OF_THE_MACHINE: readonly FindingName[] = ["cgroup-v1", "overlay-missing", "inotify-low", "pid-max-low"];
/**
 * Fields that the harness configures for the Go kubelet, and that Deckhand does not implement yet. Only warnings about
 * these fields are ignored.
 */
const OF_THE_HARNESS = ["evictionHard", "volumePluginDir"];
const isLeftOut = ({ name, seen }: Finding) =>
  OF_THE_MACHINE.includes(name) ||
  name === "feature-not-implemented" ||
  (name === "configuration-warning" && OF_THE_HARNESS.some((field) => seen.startsWith(`${field} (`)));
const YEAR_MS = 365 * 86_400_000;

let cluster: Cluster;
let node: ClusterNode;
let agent: Component;
let config: string;

before(async () => {
  cluster = await startCluster({ controlPlane: "api", nodes: [{ agent: "deckhand" }] });
  node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
  agent = cluster.component(`kubelet@${node.name}`);
  config = join(node.directory, "kubelet.json");
});

after(() => cluster.down());

interface Reported {
  readonly exitCode: number;
  readonly findings: readonly Finding[];
  readonly names: readonly FindingName[];
}

async function doctor(...flags: readonly string[]): Promise<Reported> {
  const usual = [`--config=${config}`, `--kubeconfig=${node.kubeconfig}`, `--node-ip=${node.address}`];
  const args = [await builtBundle(), "doctor", "-o", "json", ...usual, `--hostname-override=${node.name}`, ...flags];
  const { stdout, stderr, code } = await node.run(process.execPath, ...args);
  assert.equal(stderr, "");
  const reported = JSON.parse(stdout) as Omit<Reported, "names">;
  assert.equal(reported.exitCode, code);
  const findings = reported.findings.filter((each) => !isLeftOut(each));
  return { exitCode: reported.exitCode, findings, names: findings.map(({ name }) => name) };
}

/** Writes the node's configuration with some fields changed to a separate file, and returns the flag that names it. */
async function configured(change: Readonly<Record<string, unknown>>): Promise<string> {
  const file = join(node.directory, "other.json");
  const usual = JSON.parse(await readFile(config, "utf8")) as object;
  await writeFile(file, JSON.stringify({ ...usual, ...change }));
  return `--config=${file}`;
}

async function expect(reported: Promise<Reported>, names: readonly FindingName[], seen?: RegExp): Promise<void> {
  const { findings, ...rest } = await reported;
  assert.deepEqual(rest.names, names, JSON.stringify(findings, undefined, 2));
  if (seen !== undefined) assert.match(findings[0]?.seen ?? "", seen);
}

suite("doctor on a real node", () => {
  test("finds the running agent and nothing else, by the command lines in the documents", async () => {
    assert.equal(LINES.length, 3);
    for (const line of LINES) {
      const typed = line
        .replace("/var/lib/kubelet/config.yaml", config)
        .replace("/etc/kubernetes/kubelet.conf", node.kubeconfig);
      const { stdout, stderr, code } = await node.run(
        process.execPath,
        await builtBundle(),
        ...typed.split(" ").slice(1),
      );
      assert.ok(code !== 2 && code !== 3, `${stdout}${stderr}`);
      assert.match(stdout, /agent-running/);
    }
    const { findings } = await doctor();
    assert.deepEqual(
      findings.map(({ name }) => name),
      ["agent-running"],
      JSON.stringify(findings, undefined, 2),
    );
    assert.match(findings[0]?.seen ?? "", new RegExp(`^pid ${agent.pid} \\(`));
  });

  test("reports another-kubelet while the Go kubelet runs", async () => {
    await cluster.changeAgent(node.name, "go");
    await expect(doctor(), ["another-kubelet"], /^pid \d+ \(.*kubelet/);
    await agent.end();
    await expect(doctor(), []);
  });

  test("reports second-agent while two Deckhand agents run", async () => {
    const root = "/var/lib/second";
    const own = { port: 20_250, healthzPort: 20_248, staticPodPath: "", podLogsDir: "/var/log/second" };
    const open = { authentication: { anonymous: { enabled: true }, webhook: { enabled: false } } };
    const flag = await configured({ ...own, ...open, authorization: { mode: "AlwaysAllow" } });
    await cluster.changeAgent(node.name, "deckhand");
    const line = [
      process.execPath,
      await builtBundle(),
      "kubelet",
      flag,
      `--root-dir=${root}`,
      "--hostname-override=second",
    ];
    const command = behindOwnKernel(node.directory, line);
    const second = await cluster.start({ name: "second", command, ready: { kind: "listens", port: 20_248 } }, node);
    try {
      // Sorted by PID: the kernel's counter may wrap between the two.
      const [first, last] = [agent.pid, second.pid].toSorted((a, b) => a - b);
      await expect(doctor(), ["second-agent"], new RegExp(`pid ${first} .*pid ${last} `));
      await second.end();
      await expect(doctor(), ["agent-running"]);
    } finally {
      await second.kill();
      await agent.end();
    }
    await expect(doctor(), []);
  });

  test("reports port-taken while another program listens on 10250", async () => {
    const script = "require('node:net').createServer().listen(10250, '127.0.0.1')";
    const command = [process.execPath, "-e", script];
    const other = await cluster.start({ name: "other", command, ready: { kind: "listens", port: 10_250 } }, node);
    try {
      const seen = new RegExp(`:10250, for the node's own API, is taken by pid ${other.pid} `);
      await expect(doctor(), ["port-taken"], seen);
    } finally {
      await other.kill();
    }
    await expect(doctor(), []);
  });

  test("reports a stopped runtime, and an image service whose socket does not exist", async () => {
    const containerd = cluster.component(`containerd@${node.name}`);
    await containerd.end();
    await expect(doctor(), ["runtime-unreachable"], /containerd\.sock: /);
    await containerd.restart();
    await expect(doctor(), []);
    const elsewhere = await configured({ imageServiceEndpoint: "unix:///run/none.sock" });
    await expect(doctor(elsewhere), ["image-service-unreachable"], /none\.sock/);
  });

  test("reports a missing CNI configuration, a broken one, and one whose plug-in is missing", async () => {
    const file = join(node.directory, "cni", "10-bridge.conflist");
    const text = await readFile(file, "utf8");
    await rename(file, `${file}.away`);
    await expect(doctor(), ["cni-configuration-missing"], /cni holds no/);
    await writeFile(file, "{");
    await expect(doctor(), ["cni-configuration-broken"], /10-bridge\.conflist: it is no JSON/);
    await writeFile(file, text.replace('"portmap"', '"no-such-plugin"'));
    await expect(doctor(), ["cni-plugin-missing"], /^no-such-plugin, needed by/);
    await rename(`${file}.away`, file);
    await waitUntil("the network is ready again", 30_000, async () => (await doctor()).names.length === 0);
  });

  test("reports each kernel setting with a wrong value under protectKernelDefaults", async () => {
    const values = KERNEL_TUNABLES.map(async ({ name, wanted }) => {
      const { stdout } = await node.run("cat", `/proc/sys/${name.replaceAll(".", "/")}`);
      return stdout.trim() === wanted ? [] : [name];
    });
    const wrong = (await Promise.all(values)).flat();
    const { names, findings } = await doctor(await configured({ protectKernelDefaults: true }));
    assert.deepEqual(
      names,
      wrong.map(() => "kernel-setting-wrong"),
      JSON.stringify(findings),
    );
    assert.deepEqual(
      findings.map(({ seen }) => seen.split(" ")[0]),
      wrong,
    );
  });

  test("reports a wrong cgroup driver, an unknown field, a field without effect, and a rejected file", async () => {
    const wrong = await doctor(await configured({ cgroupDriver: "systemd" }));
    assert.ok(wrong.names.includes("cgroup-driver-overridden"), JSON.stringify(wrong.findings));
    const broken = await doctor(await configured({ maxPods: -1 }));
    assert.equal(broken.findings[0]?.name, "configuration-refused");
    const typo = await doctor(await configured({ maxPodz: 1 }), "--fail-on=warning");
    assert.deepEqual([typo.names, typo.exitCode], [["configuration-lenient"], 1]);
    const idle = await configured({ kernelMemcgNotification: true });
    await expect(doctor(idle), ["configuration-warning"], /^kernelMemcgNotification \(/);
    const noFile = await doctor("--config=/none");
    assert.match(noFile.findings[0]?.seen ?? "", /open \/none: no such file/);
  });

  test("reports credentials that are expired, of another node, mismatched or missing", async () => {
    const parts = { clock: { ...hostClock, wallMs: () => hostClock.wallMs() - 2 * YEAR_MS }, random: hostRandom };
    const { certificatePem, keyPem } = makeSelfSigned({ ...parts, keys: hostKeys }, { host: node.name, addresses: [] });
    const [certFile, keyFile] = [join(node.directory, "old.crt"), join(node.directory, "old.key")];
    await Promise.all([writeFile(certFile, certificatePem), writeFile(keyFile, keyPem)]);
    const kubeconfig = join(node.directory, "other.kubeconfig");
    await writeKubeconfig(cluster.layout, kubeconfig, { certFile, keyFile });
    await expect(
      doctor(`--kubeconfig=${kubeconfig}`),
      ["client-certificate-expired", "api-unauthorized"],
      /old\.crt ended on/,
    );
    const other = await cluster.api.clientCertificate("system:node:other", ["system:nodes"]);
    await writeKubeconfig(cluster.layout, kubeconfig, other);
    await expect(doctor(`--kubeconfig=${kubeconfig}`), ["node-name-not-ours", "api-forbidden"]);
    await writeKubeconfig(cluster.layout, kubeconfig, { certFile: other.certFile, keyFile });
    await expect(doctor(`--kubeconfig=${kubeconfig}`), ["client-key-not-ours", "node-name-not-ours"]);
    await expect(doctor("--kubeconfig=/none"), ["kubeconfig-refused"], /no such file/);
    const served = await configured({ tlsCertFile: certFile, tlsPrivateKeyFile: keyFile });
    await expect(doctor(served), ["serving-certificate-expired"], /old\.crt ended on/);
    const noCa = { authentication: { x509: { clientCAFile: "/none" }, webhook: { enabled: true } } };
    await expect(doctor(await configured(noCa)), ["client-ca-refused"], /\/none/);
  });

  test("reports api-unreachable when the API server refuses connections", async () => {
    const text = await readFile(node.kubeconfig, "utf8");
    const kubeconfig = join(node.directory, "away.kubeconfig");
    await writeFile(kubeconfig, text.replace(/:6443/, ":6444"));
    await expect(doctor(`--kubeconfig=${kubeconfig}`), ["api-unreachable"], /:6444: .*ECONNREFUSED/);
  });

  test("reports a full disk, a read-only disk, and a resolver on the loopback address", async () => {
    const small = "/var/lib/small";
    await mkdir(node.inside(small), { recursive: true });
    const mounted = await node.run("mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=8", "tmpfs", small);
    assert.equal(mounted.code, 0, mounted.stderr);
    try {
      await writeFile(node.inside(`${small}/fill`), Buffer.alloc(4 << 20)).catch(() => {});
      for (let made = 0; made < 8; made += 1) await writeFile(node.inside(`${small}/${made}`), "").catch(() => {});
      const full = await doctor(`--root-dir=${small}`);
      assert.deepEqual(full.names, ["disk-full", "inodes-gone"], JSON.stringify(full.findings));
      await node.run("mount", "-o", "remount,ro", small);
      const readOnly = await doctor(`--root-dir=${small}`);
      assert.ok(readOnly.names.includes("folder-unwritable"), JSON.stringify(readOnly.findings));
      assert.match(readOnly.findings[0]?.seen ?? "", /small: EROFS/);
    } finally {
      await node.run("umount", small);
    }
    const resolvConf = join(node.directory, "loop.conf");
    await writeFile(resolvConf, "nameserver 127.0.0.53\n");
    await expect(doctor(await configured({ resolvConf })), ["resolv-conf-loop"], /127\.0\.0\.53/);
    await expect(doctor(await configured({ resolvConf: "/none" })), ["resolv-conf-refused"], /\/none/);
  });

  test("reports only the files whose reads hang, and exits, although they occupy all threads of Node.js", async () => {
    const [cert, key, ca, resolvConf] = ["cert", "key", "ca", "resolv"].map((name) =>
      join(node.directory, `${name}.fifo`),
    );
    const made = await node.run("mkfifo", ...[cert, key, ca, resolvConf].map(String));
    assert.equal(made.code, 0, made.stderr);
    const authentication = { x509: { clientCAFile: ca }, webhook: { enabled: true } };
    const stuck = { authentication, resolvConf, tlsCertFile: cert, tlsPrivateKeyFile: key };
    await expect(
      doctor(await configured(stuck)),
      ["serving-certificate-refused", "client-ca-refused", "resolv-conf-refused"],
      /cert\.fifo: no answer within/,
    );
  });

  test("reports an invalid node name, an address of another machine, and programs missing on the PATH", async () => {
    const name = await doctor("--hostname-override=my_host");
    assert.ok(name.names.includes("node-name-invalid"), JSON.stringify(name.findings));
    const address = await doctor("--node-ip=192.0.2.77");
    assert.deepEqual(address.names, ["node-address-unusable"], JSON.stringify(address.findings));
    const usual = [`--config=${config}`, `--kubeconfig=${node.kubeconfig}`, `--node-ip=${node.address}`];
    const bare = await node.run("env", "PATH=/none", process.execPath, await builtBundle(), "doctor", ...usual);
    assert.equal(bare.code, 1, bare.stderr);
    for (const program of ["mount", "umount", "flock"]) assert.match(bare.stdout, new RegExp(`no ${program} on`));
    assert.match(bare.stdout, /iptables-missing/);
  });
});

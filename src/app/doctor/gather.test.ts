/**
 * From the command line to findings, on a host of fakes: what is inspected, with which settings, and that no failed
 * check is lost.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeHostInspector } from "../../../sim/fake-host-inspector.ts";
import { FakeKeys } from "../../../sim/fake-keys.ts";
import { FakeMachine } from "../../../sim/fake-machine.ts";
import { FakeSysctls } from "../../../sim/fake-sysctls.ts";
import { SeededRandom } from "../../../sim/seeded-random.ts";
import { runtimeAnswered } from "../../../test/support/node-world.ts";
import { directoryOf, HEADER, machine as machineOfOptions } from "../../../test/support/options.ts";
import { raceAbort } from "../../concurrency/abort.ts";
import { makeSelfSigned } from "../../controllers/identity/self-signed.ts";
import type { Finding } from "../../domain/doctor/finding.ts";
import type { CgroupDriver } from "../../domain/runtime/runtime-info.ts";
import type { Clock } from "../../ports/clock.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { hostClock } from "../../wire/host/clock.ts";
import type { Connection } from "../../wire/kube-api/connection.ts";
import type { PlainAnswer } from "../../wire/kube-api/one-shot-request.ts";
import { doctorCommand } from "../commands/doctor.ts";
import type { DoctorPorts } from "./probe-host.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 5, 1);
const random = new SeededRandom("doctor");
const keys = new FakeKeys(random);
const at = (wallMs: number): Clock => ({ ...hostClock, wallMs: () => wallMs });
const pairAt = (wallMs: number) =>
  makeSelfSigned({ clock: at(wallMs), random, keys }, { host: "node-1", addresses: [] });
const GOOD = pairAt(NOW);
const OVER = pairAt(NOW - 400 * DAY_MS);

const base64 = (text: string) => Buffer.from(text).toString("base64");
const kubeconfig = ({ certificatePem, keyPem } = GOOD) => `current-context: c
clusters: [{name: k, cluster: {server: "https://192.0.2.1:6443", certificate-authority-data: ${base64("CA")}}}]
users: [{name: u, user: {client-certificate-data: ${base64(certificatePem)}, client-key-data: ${base64(keyPem)}}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
`;
const CONFIGURATION = `${HEADER}clusterDNS: [192.0.2.10]
resolvConf: /etc/resolv.conf
authentication: {x509: {clientCAFile: /etc/kubernetes/ca.crt}}
`;

interface Host {
  readonly inspector: FakeHostInspector;
  readonly kernel: FakeSysctls;
  readonly machine: FakeMachine;
  /** Responses of the runtime and the API server; an Error is thrown. */
  answers: {
    version: Awaited<ReturnType<DoctorPorts["runtime"]["version"]>> | Error;
    status: Awaited<ReturnType<DoctorPorts["runtime"]["status"]>> | Error;
    driver: CgroupDriver | Error;
    api: Readonly<Record<string, PlainAnswer>> | Error;
  };
  readonly asked: string[];
  clock: Clock;
}

/** The CNI settings as containerd reports them. */
const CNI = { confDir: "/etc/cni/net.d", binDirs: ["/opt/cni/bin"] };
const STATUS = { ...runtimeAnswered().status, info: { config: JSON.stringify({ cni: CNI }) } };
const OK = { status: 200, body: {}, dateWallMs: NOW };

function soundHost(): Host {
  const inspector = new FakeHostInspector();
  inspector.systemd = false;
  const network = { name: "pods", plugins: [{ type: "bridge", ipam: { type: "host-local" } }] };
  inspector.files.set("/etc/cni/net.d/10-pods.conflist", JSON.stringify(network));
  for (const name of ["bridge", "host-local", "loopback"]) inspector.files.set(`/opt/cni/bin/${name}`, "");
  inspector.files.set("/etc/resolv.conf", "nameserver 192.0.2.53\n");
  inspector.files.set("/etc/kubernetes/ca.crt", pairAt(NOW).certificatePem);
  return {
    inspector,
    kernel: new FakeSysctls(),
    machine: new FakeMachine("node-1"),
    answers: {
      version: { name: "containerd", version: "v2.2.0", apiVersion: "v1" },
      status: STATUS,
      driver: "cgroupfs",
      api: {
        "/api/v1/nodes/node-1": OK,
        "/version": { ...OK, body: { major: "1", minor: "36+" } },
      },
    },
    asked: [],
    clock: at(NOW),
  };
}

const answer = async <T>(value: T | Error): Promise<T> => {
  if (value instanceof Error) throw value;
  return value;
};

/** A clock on which a second takes ten milliseconds. */
const hurried: Clock = { ...at(NOW), after: (ms, fire) => hostClock.after(ms / 100, fire) };

const portsOf = ({ inspector, kernel, machine, answers, asked, clock }: Host): DoctorPorts => ({
  clock,
  machine,
  inspector,
  kernel,
  keys,
  runtime: {
    version: () => answer(answers.version),
    status: () => answer(answers.status),
    cgroupDriver: () => answer(answers.driver),
  },
  images: {
    imageFilesystems: () => answer({ images: [{ wallNs: 0n, mountpoint: "/var/lib/images" }], containers: [] }),
  },
  ask: async ({ url }: Connection, path: string) => {
    asked.push(`${url}${path}`);
    const found = (await answer(answers.api))[path];
    assert.ok(found !== undefined, path);
    return found;
  },
});

async function run(host: Host, args: readonly string[], isColored = false) {
  const said = { stdout: "", stderr: "" };
  let opened = 0;
  const io = {
    clock: at(NOW),
    pid: 1,
    machine: () => machineOfOptions,
    isColored,
    isInteractive: false,
    stdout: (text: string) => void (said.stdout += text),
    stderr: (text: string) => void (said.stderr += text),
  };
  const exitCode = await doctorCommand(args, io, async () => {
    opened += 1;
    return { ports: portsOf(host), close: async () => void (opened -= 1) };
  });
  assert.equal(opened, 0, "what was opened is closed");
  return { exitCode, ...said };
}

interface Files {
  readonly configuration?: string;
  readonly kubeconfig?: string;
}

function flagsOf(t: TestContext, { configuration = CONFIGURATION, kubeconfig: text = kubeconfig() }: Files = {}) {
  const directory = directoryOf(t, { "config.yaml": configuration, "kubelet.conf": text });
  return [`--config=${join(directory, "config.yaml")}`, `--kubeconfig=${join(directory, "kubelet.conf")}`];
}

async function findings(t: TestContext, change: (host: Host) => void, files: Files = {}, more: readonly string[] = []) {
  const host = soundHost();
  change(host);
  const { exitCode, stdout, stderr } = await run(host, ["-o", "json", ...flagsOf(t, files), ...more]);
  assert.equal(stderr, "");
  const reported = JSON.parse(stdout) as { readonly exitCode: number; readonly findings: readonly Finding[] };
  assert.equal(reported.exitCode, exitCode);
  const left = reported.findings.filter(({ name }) => name !== "feature-not-implemented");
  return { host, exitCode, reported: left.map(({ name, seen }) => `${name}: ${seen}`) };
}

test("doctor finds nothing on a sound host, and requests only its Node and the server's version", async (t) => {
  const { host, exitCode, reported } = await findings(t, () => {});
  assert.deepEqual([exitCode, reported], [0, []]);
  assert.deepEqual(host.asked, ["https://192.0.2.1:6443/api/v1/nodes/node-1", "https://192.0.2.1:6443/version"]);
  const text = await run(soundHost(), flagsOf(t));
  assert.match(
    text.stdout,
    /^NOTE +feature-not-implemented\n[^]*attached volumes \(enableControllerAttachDetach\): a pod/m,
  );
  assert.match(text.stdout, /0 errors, 0 warnings, \d+ notes/);
});

/** Each change to a sound host, and the findings it causes. */
const CHANGES: Readonly<Record<string, readonly [(host: Host) => void, readonly RegExp[]]>> = {
  "the runtime is down": [
    (host) => (host.answers.version = new RuntimeError("Version", "unavailable", "connect ENOENT")),
    [/^runtime-unreachable: unix:\/\/\/run\/containerd\/containerd\.sock: Version: connect ENOENT$/],
  ],
  "the runtime speaks no CRI": [
    (host) => (host.answers.version = new RuntimeError("Version", "unimplemented", "unknown service")),
    [/^runtime-without-cri/],
  ],
  "the runtime does not implement RuntimeConfig, and its settings name another cgroup driver": [
    (host) => {
      host.answers.driver = new RuntimeError("RuntimeConfig", "unimplemented", "unknown method");
      const containerd = { defaultRuntimeName: "runc", runtimes: { runc: { options: { SystemdCgroup: true } } } };
      host.answers.status = { ...STATUS, info: { config: JSON.stringify({ cni: CNI, containerd }) } };
    },
    [/^cgroup-driver-unagreed/, /^cgroup-driver-without-systemd/, /^runtime-old/],
  ],
  "RuntimeConfig fails": [
    (host) => (host.answers.driver = new RuntimeError("RuntimeConfig", "internal", "oh")),
    [/^could-not-look: the runtime's cgroup driver: RuntimeConfig: oh/],
  ],
  "the runtime's settings are not JSON": [
    (host) => (host.answers.status = { ...STATUS, info: { config: "{" } }),
    [/^could-not-look: the runtime's state: its settings cannot be read/],
  ],
  "the runtime's CNI directory is another one": [
    (host) => (host.answers.status = { ...STATUS, info: { config: JSON.stringify({ cni: { confDir: "/other" } }) } }),
    [/^cni-configuration-missing: \/other holds no/],
  ],
  "the runtime's plug-ins are not installed": [
    (host) => host.inspector.files.delete("/opt/cni/bin/bridge"),
    [/^cni-plugin-missing: bridge, needed by .*10-pods\.conflist, is not in \/opt\/cni\/bin/],
  ],
  "the runtime reports no CNI directories (no finding)": [
    (host) => {
      host.answers.status = { ...STATUS, info: { config: JSON.stringify({ sandboxImage: "pause" }) } };
      host.inspector.files.delete("/etc/cni/net.d/10-pods.conflist");
      host.inspector.files.delete("/opt/cni/bin/bridge");
    },
    [],
  ],
  "the API server is unreachable": [
    (host) => (host.answers.api = new Error("connect ECONNREFUSED")),
    [/^api-unreachable: https:\/\/192\.0\.2\.1:6443: connect ECONNREFUSED/],
  ],
  "the API server's clock is ten minutes ahead, and another machine has the name": [
    (host) => {
      const status = { nodeInfo: { machineID: "other" }, conditions: [{ type: "Ready", status: "True" }] };
      host.answers.api = {
        "/api/v1/nodes/node-1": { status: 200, body: { status }, dateWallMs: NOW + 600_000 },
        "/version": { ...OK, body: { major: "1", minor: "33" } },
      };
    },
    [
      /^api-version-skew: .* 1\.33/,
      /^clock-skewed: this host is 10 minutes behind/,
      /^node-name-taken: the machine other/,
    ],
  ],
  "the API server forbids reading the Node": [
    (host) =>
      (host.answers.api = {
        "/api/v1/nodes/node-1": { status: 403, body: { message: 'nodes "node-1" is forbidden' }, dateWallMs: NOW },
        "/version": OK,
      }),
    [/^api-forbidden: .*nodes "node-1" is forbidden/],
  ],
  "the image disk is below the default eviction thresholds": [
    (host) => {
      host.inspector.directories.add("/var/lib/images");
      host.machine.filesystems.set("/var/lib/images", {
        device: "2",
        capacityBytes: 1000n << 20n,
        availableBytes: 149n << 20n,
        inodes: 1000n,
        inodesFree: 40n,
      });
    },
    [/^disk-pressure: .*images.* 149 MiB of 1000 MiB left, less than 150 MiB/, /^inodes-pressure: .* less than 50$/],
  ],
  "the disk of the logs is below the eviction thresholds (no finding)": [
    (host) => {
      host.inspector.directories.add("/var/log/pods");
      const small = { device: "2", capacityBytes: 1000n << 20n, availableBytes: 9n << 20n };
      host.machine.filesystems.set("/var/log/pods", { ...small, inodes: 1000n, inodesFree: 4n });
    },
    [],
  ],
  "the disk of the logs is full": [
    (host) => {
      host.inspector.directories.add("/var/log/pods");
      const full = { device: "2", capacityBytes: 1000n << 20n, availableBytes: 0n };
      host.machine.filesystems.set("/var/log/pods", { ...full, inodes: 1000n, inodesFree: 0n });
    },
    [/^disk-full: .*logs of pods/, /^inodes-gone: .*logs of pods/],
  ],
  "the machine's facts cannot be read": [
    (host) => Object.assign(host.machine, { facts: () => Promise.reject(new Error("EACCES")) }),
    [/^could-not-look: the kernel's release and the machine's id: EACCES$/],
  ],
  "the directory of certificates is read-only": [
    (host) => host.inspector.unwritable.set("/var/lib", "EROFS"),
    [/^folder-unwritable: \/var\/lib\/kubelet: EROFS/, /^folder-unwritable: \/var\/lib\/kubelet\/pki: EROFS/],
  ],
  "swap is on": [(host) => (host.inspector.swap = ["/dev/sda2"]), [/^swap-on/]],
  "a kernel setting cannot be written": [
    (host) => host.kernel.locked.add("kernel.panic"),
    [/^kernel-setting-locked: kernel.panic is 0, and is to be 10/],
  ],
  "there is no /dev/kmsg": [(host) => host.inspector.files.delete("/dev/kmsg"), [/^kmsg-unreadable: ENOENT/]],
  "the port is taken": [
    (host) => (host.inspector.listening = [{ address: "127.0.0.1", port: 10_248, process: { pid: 9, command: "nc" } }]),
    [/^port-taken: 127\.0\.0\.1:10248, for healthz/],
  ],
  "resolv.conf and the client CA file are missing": [
    (host) => {
      host.inspector.files.delete("/etc/resolv.conf");
      host.inspector.files.delete("/etc/kubernetes/ca.crt");
    },
    [/^client-ca-refused: \/etc\/kubernetes\/ca\.crt: ENOENT/, /^resolv-conf-refused: \/etc\/resolv\.conf: ENOENT/],
  ],
  "the program mount is missing": [
    (host) => host.inspector.programs.delete("mount"),
    [/^program-missing: there is no mount/],
  ],
  "nothing in /proc can be read": [
    (host) => {
      const refuse = () => Promise.reject(new Error("EACCES"));
      Object.assign(host.inspector, {
        fileSystems: refuse,
        swapDevices: refuse,
        cgroupTree: refuse,
        listeners: refuse,
      });
      Object.assign(host.inspector, { agents: refuse, isRunBySystemd: refuse, hasProgram: refuse, nearest: refuse });
      Object.assign(host.kernel, { read: refuse });
      Object.assign(host.machine, { facts: refuse, addresses: refuse });
    },
    [
      /^kubeconfig-refused: EACCES/,
      ...[
        "the node's address",
        "who listens on this host",
        "which agents run on this host",
        "control groups",
        "whether systemd runs this machine",
        "swap",
        "the kernel's release and the machine's id",
        "kernel settings",
        "file systems of the kernel",
        "kernel settings of the agent's",
        "the disk of /var/lib/kubelet",
        "/var/lib/kubelet",
        "the disk of /var/lib/kubelet/pki",
        "/var/lib/kubelet/pki",
        "the disk of /var/log/pods",
        "/var/log/pods",
        "the disk of /var/lib/images",
        "programs",
      ].map((what) => new RegExp(`^could-not-look: ${what}: EACCES$`)),
    ],
  ],
};

for (const [what, [change, wanted]] of Object.entries(CHANGES)) {
  test(`doctor on a host where ${what}`, async (t) => {
    const { reported } = await findings(t, change);
    assert.equal(reported.length, wanted.length, reported.join("\n"));
    for (const [index, pattern] of wanted.entries()) assert.match(reported[index] ?? "", pattern);
  });
}

test("doctor reports a rejected configuration, lenient decoding and wrong kernel settings", async (t) => {
  const wrong = await findings(t, () => {}, { configuration: `${CONFIGURATION}maxPods: -1\n` });
  assert.equal(wrong.exitCode, 1);
  assert.match(
    wrong.reported[0] ?? "",
    /^configuration-refused: .*maxPods.* \(other checks that depend on it were skipped\)$/,
  );
  const down = (host: Host) => {
    host.answers.version = new RuntimeError("Version", "unavailable", "connect ENOENT");
    host.inspector.swap = ["/dev/sda2"];
    host.inspector.files.delete("/etc/resolv.conf");
  };
  const elsewhere = await findings(t, down, { configuration: `${CONFIGURATION}failSwapOn: false\nmaxPods: -1\n` });
  assert.equal(elsewhere.reported.length, 1, elsewhere.reported.join("\n"));
  const lenient = await findings(t, () => {}, { configuration: `${CONFIGURATION}maxPod: 1\n` });
  assert.deepEqual([lenient.exitCode, lenient.reported.length], [0, 1]);
  assert.match(lenient.reported[0] ?? "", /^configuration-lenient: .*"maxPod"/);
  const protect = await findings(t, () => {}, { configuration: `${CONFIGURATION}protectKernelDefaults: true\n` });
  assert.equal(
    protect.reported.filter((each) => each.startsWith("kernel-setting-wrong: ")).length,
    3,
    protect.reported.join(),
  );
  const none = await findings(t, () => {}, {}, ["--config=/none"]);
  assert.match(none.reported[0] ?? "", /^configuration-refused: .*open \/none: no such file or directory/);
});

test("doctor checks certificates at the agent's paths", async (t) => {
  const over = await findings(t, () => {}, { kubeconfig: kubeconfig(OVER) });
  assert.match(over.reported.join(), /^client-certificate-expired: .*kubelet\.conf ended on 2026-04-2/);
  const mixed = await findings(t, () => {}, { kubeconfig: kubeconfig({ ...GOOD, keyPem: OVER.keyPem }) });
  assert.match(mixed.reported.join(), /^client-key-not-ours: [^,]*$/);
  assert.deepEqual(mixed.host.asked, []);
  const broken = await findings(t, () => {}, { kubeconfig: "current-context: none\n" });
  assert.match(broken.reported.join(), /^kubeconfig-refused: invalid kubeconfig .*there is no context "none"/);
  assert.deepEqual(broken.host.asked, []);

  const serving = `${CONFIGURATION}tlsCertFile: /s.crt\ntlsPrivateKeyFile: /s.key\n`;
  const missing = await findings(t, () => {}, { configuration: serving });
  assert.match(missing.reported.join(), /^serving-certificate-refused: \/s\.crt: ENOENT/);
  const expired = await findings(
    t,
    ({ inspector }) => void inspector.files.set("/s.crt", OVER.certificatePem).set("/s.key", OVER.keyPem),
    { configuration: serving },
  );
  assert.match(expired.reported.join(), /^serving-certificate-expired: \/s\.crt/);
  const current = "/var/lib/kubelet/pki/kubelet-server-current.pem";
  const signed = await findings(
    t,
    ({ inspector }) => void inspector.files.set(current, OVER.certificatePem + OVER.keyPem),
    {
      configuration: `${CONFIGURATION}serverTLSBootstrap: true\n`,
    },
  );
  assert.match(signed.reported.join(), /^serving-certificate-expired: .*kubelet-server-current\.pem/);
  const hidden = ({ inspector }: Host) => {
    const nearest = inspector.nearest.bind(inspector);
    inspector.nearest = (path) => (path === current ? Promise.reject(new Error("EACCES")) : nearest(path));
  };
  const unseen = await findings(t, hidden, { configuration: `${CONFIGURATION}serverTLSBootstrap: true\n` });
  assert.deepEqual(unseen.reported, [`could-not-look: the serving certificate: ${current}: EACCES`]);
});

test("doctor falls back to the default route's address when DNS does not answer", async (t) => {
  const silent = (host: Host) => {
    host.clock = hurried;
    host.machine.lookup = (_, signal) => raceAbort(new Promise(() => {}), signal);
  };
  assert.deepEqual((await findings(t, silent)).reported, []);
  const nowhere = (host: Host) => {
    silent(host);
    host.machine.defaultInterface = undefined;
  };
  assert.match((await findings(t, nowhere)).reported.join(), /^node-address-unusable: /);
});

test("doctor gives up on an unresponsive kubeconfig after 5 s", async (t) => {
  const stuck = (host: Host) => {
    host.clock = hurried;
    const nearest = host.inspector.nearest.bind(host.inspector);
    host.inspector.nearest = (path) => (path.endsWith("kubelet.conf") ? new Promise(() => {}) : nearest(path));
  };
  assert.deepEqual((await findings(t, stuck)).reported, ["kubeconfig-refused: no answer within 5000 ms"]);
});

test("doctor uses the bootstrap kubeconfig for a node that has not joined", async (t) => {
  const directory = directoryOf(t, {
    "bootstrap.conf": kubeconfig().replace(/\{client-cert.*\}\}\]/, "{token: abc.def}}]"),
  });
  const more = [`--kubeconfig=${directory}/none`, `--bootstrap-kubeconfig=${join(directory, "bootstrap.conf")}`];
  const joining = await findings(t, () => {}, {}, more);
  assert.match(joining.reported.join(), /^bootstrap-needed: .*none: .*no such file or directory$/);
  assert.equal(joining.exitCode, 0);
  assert.deepEqual(joining.host.asked, ["https://192.0.2.1:6443/version"]);
  const refused = await findings(t, (host) => (host.answers.api = { "/version": { ...OK, status: 401 } }), {}, more);
  assert.match(refused.reported.join(), /api-unauthorized/);
});

test("doctor exits with 2 and its usage on a wrong value of its own flags", async () => {
  const wrong = await run(soundHost(), ["-o", "xml"]);
  assert.deepEqual(
    [wrong.exitCode, wrong.stderr.startsWith("error: --output is text or json, not xml\n\nUsage: ")],
    [2, true],
  );
  const neither = await run(soundHost(), ["--fail-on=note"]);
  assert.deepEqual(
    [neither.exitCode, neither.stderr.split("\n")[0]],
    [2, "error: --fail-on is error or warning, not note"],
  );
  const help = await run(soundHost(), ["--help"]);
  assert.deepEqual([help.exitCode, help.stdout.startsWith("Usage: deckhand doctor")], [0, true]);
  const stray = await run(soundHost(), ["--output=json", "--no-such-flag"]);
  assert.equal(stray.exitCode, 1);
  assert.match(stray.stdout, /"configuration-refused"[^]*unknown flag: --no-such-flag/);
});

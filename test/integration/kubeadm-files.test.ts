/**
 * A node that kubeadm has joined to a cluster: its files as kubeadm itself writes them, at kubeadm's paths, and the
 * command line of kubeadm's systemd drop-in. The directories are the node's own; the test touches nothing of the
 * machine's.
 */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { type Cluster, type ClusterNode, startCluster } from "../cluster/cluster.ts";
import { command } from "../cluster/command.ts";
import { SERVICE_DNS, SERVICE_RANGE } from "../cluster/layout.ts";
import { buildParts } from "../cluster/parts.ts";
import { waitUntil } from "../cluster/wait.ts";
import { SLEEPER } from "../support/cluster-pods.ts";

const TOKEN = "abcdef.0123456789abcdef";
const ETC = "/etc/kubernetes";
const ROOT = "/var/lib/kubelet";

const [CONFIG, INSTANCE, ENVIRONMENT] = ["config.yaml", "instance-config.yaml", "kubeadm-flags.env"].map(
  (name) => `${ROOT}/${name}`,
) as [string, string, string];
const WRITTEN = [CONFIG, INSTANCE, ENVIRONMENT, `${ETC}/pki/ca.crt`];

function flagsOf(environment: string): string {
  const flags = /^KUBELET_KUBEADM_ARGS="(?<flags>.*)"$/m.exec(environment)?.groups?.["flags"];
  assert.ok(flags !== undefined, environment);
  return flags;
}

describe("a node that kubeadm has joined", () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let kubeadm: string;

  const read = (path: string) => readFile(node.inside(path), "utf8");

  before(async () => {
    kubeadm = (await buildParts()).path("kubeadm");
    cluster = await startCluster({ controlPlane: "full", nodes: [{ agent: "deckhand" }] });
    node = cluster.nodes[0] ?? assert.fail("the cluster has a node");
    await blank();
    await ofControlPlane();
    await ofNode();
  });

  after(() => cluster.down());

  /** Makes the node, in its own namespace alone, like a machine that has never run a kubelet. */
  async function blank(): Promise<void> {
    await cluster.component(`kubelet@${node.name}`).end();
    await cluster.kubectl("delete", "node", node.name);
    await rm(node.inside(ROOT), { recursive: true, force: true });
    const etc = join(node.directory, "etc");
    await inNode("cp", "-a", "/etc", etc);
    await inNode("rm", "-rf", join(etc, "kubernetes"));
    await inNode("mount", "--bind", etc, "/etc");
  }

  async function inNode(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await node.run(...args);
    assert.equal(code, 0, `${args.join(" ")}\n${stdout}${stderr}`);
    return stdout;
  }

  const file = (name: string) => join(node.directory, name);

  /**
   * Creates what `kubeadm init` leaves in the cluster, with kubeadm's defaults except where this machine does not meet
   * its requirements.
   */
  async function ofControlPlane(): Promise<void> {
    const documents = [
      {
        apiVersion: "kubeadm.k8s.io/v1beta4",
        kind: "InitConfiguration",
        bootstrapTokens: [{ token: TOKEN }],
        nodeRegistration: { criSocket: node.criEndpoint },
      },
      {
        apiVersion: "kubeadm.k8s.io/v1beta4",
        kind: "ClusterConfiguration",
        kubernetesVersion: "v1.36.4",
        controlPlaneEndpoint: new URL(cluster.api.url).host,
        networking: { serviceSubnet: SERVICE_RANGE },
      },
      {
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        cgroupDriver: "cgroupfs",
        cgroupRoot: node.cgroupParent,
        failCgroupV1: false,
        failSwapOn: false,
        evictionHard: { "memory.available": "1%", "nodefs.available": "1%", "imagefs.available": "1%" },
        volumePluginDir: `${ROOT}/volume-plugins`,
      },
    ];
    const config = file("init.yaml");
    await writeFile(config, documents.map((document) => JSON.stringify(document)).join("\n---\n"));
    const phase = (...names: readonly string[]) =>
      command(kubeadm, ["init", "phase", ...names, "--config", config, "--kubeconfig", cluster.api.kubeconfig]);
    await phase("upload-config", "all");
    await phase("bootstrap-token");
  }

  /** Writes the configuration of `kubeadm join`. */
  async function ofNode(): Promise<void> {
    const ca = await readFile(cluster.api.caFile);
    const discovery = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      users: [{ name: "u", user: { token: TOKEN } }],
      clusters: [
        { name: "c", cluster: { server: cluster.api.url, "certificate-authority-data": ca.toString("base64") } },
      ],
    };
    const joining = {
      apiVersion: "kubeadm.k8s.io/v1beta4",
      kind: "JoinConfiguration",
      discovery: { file: { kubeConfigPath: file("discovery.conf") }, tlsBootstrapToken: TOKEN },
      nodeRegistration: {
        criSocket: node.criEndpoint,
        kubeletExtraArgs: [{ name: "node-ip", value: node.address }],
      },
    };
    await writeFile(file("discovery.conf"), JSON.stringify(discovery));
    await writeFile(file("join.yaml"), JSON.stringify(joining));
  }

  /** The arguments as systemd assembles them from kubeadm's drop-in and the environment file. */
  async function commandLine(): Promise<readonly string[]> {
    const flags = flagsOf(await read(ENVIRONMENT));
    return [
      `--bootstrap-kubeconfig=${ETC}/bootstrap-kubelet.conf`,
      `--kubeconfig=${ETC}/kubelet.conf`,
      `--config=${CONFIG}`,
      ...flags.split(" ").filter((flag) => flag !== ""),
    ];
  }

  const filesNow = async () =>
    Object.fromEntries(await Promise.all(WRITTEN.map(async (path) => [path, await read(path)] as const)));
  const isReady = async () => {
    for (const what of ["create", "condition=Ready"])
      await cluster.kubectl("wait", `--for=${what}`, `node/${node.name}`, "--timeout=60s");
  };
  const containerId = (pod: string) =>
    cluster.kubectl("get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].containerID}");
  const configz = async () =>
    JSON.parse(await cluster.kubectl("get", "--raw", `/api/v1/nodes/${node.name}/proxy/configz`)) as unknown;

  test("[27.1.2] [2.1] kubeadm join succeeds: the agent uses kubeadm's files unchanged and gets its certificate with the token", async () => {
    // Preflight checks concern the machine, not the kubelet.
    const joined = inNode(kubeadm, "join", "--config", file("join.yaml"), "--skip-phases=preflight");
    await waitUntil("kubeadm to have written the last file", 30_000, async () =>
      read(ENVIRONMENT).then(
        (text) => text.endsWith('"\n'),
        () => false,
      ),
    );
    const written = await filesNow();
    assert.equal(flagsOf(written[ENVIRONMENT] ?? ""), `--node-ip=${node.address}`);
    assert.match(written[INSTANCE] ?? "", new RegExp(`^containerRuntimeEndpoint: "${node.criEndpoint}"`));
    // Started at the point where systemd would start it.
    await cluster.changeAgent(node.name, "deckhand", { commandLine: await commandLine() });
    assert.match(await joined, /This node has joined the cluster/);
    await isReady();
    assert.deepEqual(await filesNow(), written);
    // bootstrap-kubelet.conf is gone after the join: from now on it does not exist when an agent starts.
    assert.deepEqual((await readdir(node.inside(ETC))).toSorted(), ["kubelet.conf", "pki"]);
  });

  test("[27.1.3] [27.1.4] the agent's kubeconfig names the link to the certificate that is rotated", async () => {
    const { users } = parse(await read(`${ETC}/kubelet.conf`)) as {
      readonly users: readonly { readonly user: object }[];
    };
    const current = `${ROOT}/pki/kubelet-client-current.pem`;
    assert.deepEqual(users[0]?.user, { "client-certificate": current, "client-key": current });
    const names = await readdir(node.inside(`${ROOT}/pki`));
    assert.ok(
      names.some((name) => /^kubelet-client-\d{4}(?:-\d\d){5}\.pem$/.test(name)),
      names.join(),
    );
    const target = await inNode("readlink", "-f", current);
    assert.match(target, /\/kubelet-client-\d[-\d]+\.pem\n$/);
  });

  test("[27.1.38] pods from the API server and from kubeadm's manifest directory run, with the cluster's DNS", async () => {
    await inNode("mkdir", "-p", `${ETC}/manifests`);
    const fixed = { apiVersion: "v1", kind: "Pod", metadata: { name: "fixed" }, spec: { containers: [SLEEPER] } };
    await writeFile(node.inside(`${ETC}/manifests/fixed.yaml`), JSON.stringify(fixed));
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "plain" },
      spec: { terminationGracePeriodSeconds: 1, containers: [SLEEPER] },
    };
    await writeFile(file("plain.json"), JSON.stringify(pod));
    await cluster.kubectl("create", "-f", file("plain.json"));
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/plain", "--timeout=60s");
    const mirror = `pod/fixed-${node.name}`;
    await waitUntil("the pod of the manifest directory", 30_000, async () =>
      (await cluster.kubectl("get", "pods", "-o", "name")).includes(mirror),
    );
    await cluster.kubectl("wait", "--for=condition=Ready", mirror, "--timeout=60s");
    assert.match(
      await cluster.kubectl("exec", "plain", "--", "cat", "/etc/resolv.conf"),
      new RegExp(`^nameserver ${SERVICE_DNS}$`, "m"),
    );
  });

  test("[27.1.2] [27.1.3] a Go kubelet on the same files and command line has the same configuration and keeps the pod", async () => {
    const [before, ours] = [await containerId("plain"), await configz()];
    await cluster.changeAgent(node.name, "go", { commandLine: await commandLine() });
    await isReady();
    assert.deepEqual(ours, await configz());
    assert.equal(await containerId("plain"), before);
  });
});

/**
 * A node in a box: network, mount and host name namespaces of its own, with `/var/lib`, `/var/log` and `/run` bound to folders of its
 * own, so that two nodes on one machine meet in no fixed path. Its mounts end with the last process in it.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { builtBundle } from "../support/built-program.ts";
import { issueClientCertificate, pki, writeKubeconfig } from "./certificates.ts";
import { command } from "./command.ts";
import type { Program } from "./control-plane.ts";
import { MIRRORED, PAUSE_IMAGE } from "./images.ts";
import { type ClusterLayout, type NodeLayout, POD_RANGE, SERVICE_DNS } from "./layout.ts";
import { behindOwnKernel, makeKernelSettings } from "./own-kernel.ts";
import type { Parts } from "./parts.ts";

export const AGENTS = ["none", "go", "deckhand"] as const;
export type Agent = (typeof AGENTS)[number];

/** The process that holds namespaces open: everything else of a node, or of the control plane, enters them through it. */
export function anchor(name: string, hostname: string, box?: NodeLayout): Program {
  const script = ["mount --make-rshared /", `hostname ${hostname}`];
  if (box !== undefined) {
    script.push(
      `mount --bind ${join(box.folder, "lib")} /var/lib`,
      `mount --bind ${join(box.folder, "log")} /var/log`,
      "mount -t tmpfs tmpfs /run",
      // The Go kubelet's cAdvisor asks containerd whose a control group is, at the one address it knows.
      "mkdir -m 0711 /run/containerd",
      `ln -s ${box.containerdSocket} /run/containerd/containerd.sock`,
    );
  }
  const unshare = ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "--"];
  const command = [...unshare, "/bin/sh", "-ec", `${script.join("\n")}\nexec sleep infinity`];
  return { name, command, ready: { kind: "became", program: "sleep" } };
}

export async function makeNodeFolders(node: NodeLayout): Promise<void> {
  for (const folder of ["lib", "log", "log/pods", "cni"]) await mkdir(join(node.folder, folder), { recursive: true });
  await makeKernelSettings(node.folder);
}

export async function containerd(
  layout: ClusterLayout,
  node: NodeLayout,
  parts: Parts,
  dualStack: boolean,
): Promise<Program> {
  const cni = join(node.folder, "cni");
  await writeFile(join(cni, "10-bridge.conflist"), JSON.stringify(cniConfig(node, dualStack)));
  const hosts = join(node.folder, "certs.d");
  for (const registry of [...MIRRORED, layout.registryOpen, layout.registryGuarded]) {
    const address = registry === layout.registryGuarded ? layout.registryGuarded : layout.registryOpen;
    await mkdir(join(hosts, registry), { recursive: true });
    const host = `server = "http://${address}"\n\n[host."http://${address}"]\n  capabilities = ["pull", "resolve"]\n`;
    await writeFile(join(hosts, registry, "hosts.toml"), host);
  }
  const config = join(node.folder, "containerd.toml");
  await writeFile(config, containerdConfig(node, { cniBin: parts.folder("cni"), cniConf: cni, hosts }));
  // containerd finds the shim and runc on its PATH.
  const path = [parts.folder("containerd"), parts.folder("runc"), "/usr/sbin", "/usr/bin", "/sbin", "/bin"].join(":");
  return {
    name: `containerd@${node.name}`,
    command: [parts.path("containerd"), "--config", config],
    env: { PATH: path },
    ready: { kind: "cri", endpoint: `unix://${node.containerdSocket}` },
  };
}

export async function importImages(node: NodeLayout, parts: Parts, archives: readonly string[]): Promise<void> {
  const ctr = [parts.path("ctr"), "--address", node.containerdSocket, "--namespace", "k8s.io"] as const;
  const [file, ...args] = ctr;
  for (const archive of archives) {
    await command(file, [...args, "images", "import", "--local", "--all-platforms", archive], { limitMs: 120_000 });
  }
}

function cniConfig(node: NodeLayout, dualStack: boolean): unknown {
  return {
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [
      {
        type: "bridge",
        bridge: "pods0",
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: "host-local",
          ranges: [[{ subnet: node.podRange }], ...(dualStack ? [[{ subnet: node.ipv6PodRange }]] : [])],
          routes: [{ dst: "0.0.0.0/0" }, ...(dualStack ? [{ dst: "::/0" }] : [])],
          dataDir: "/var/lib/cni/networks",
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

function containerdConfig(
  node: NodeLayout,
  paths: { readonly cniBin: string; readonly cniConf: string; readonly hosts: string },
): string {
  const quoted = (value: string) => JSON.stringify(value);
  const handler = (name: string) => `
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.${name}]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.${name}.options]
        SystemdCgroup = false`;
  return `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = ${quoted(node.containerdSocket)}

[plugins."io.containerd.cri.v1.runtime"]
  # Where the machine lacks CAP_SYS_RESOURCE no process may lower its score.
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [${quoted(paths.cniBin)}]
    conf_dir = ${quoted(paths.cniConf)}
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"${handler("runc")}${handler("test-handler")}

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd-opt"

[plugins."io.containerd.cri.v1.images"]
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = ${quoted(PAUSE_IMAGE)}
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = ${quoted(paths.hosts)}
`;
}

/** How an agent is started otherwise than usual. */
export interface AgentOptions {
  /** Without an API server. */
  readonly standalone?: boolean;
  /** The node and its pods have an IPv6 address besides the other, from the cluster's start on. */
  readonly dualStack?: boolean;
  /** Fields of the configuration file, over the usual ones. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** More of the command line, over what stands before it. */
  readonly flags?: readonly string[];
  /** All of the command line: nothing of what is usual. */
  readonly commandLine?: readonly string[];
  /** Deckhand's program without its subcommand; the bundle of these sources unless given. */
  readonly deckhand?: readonly string[];
  /** A program that takes the kubelet's flags as they are, in place of the agent's usual one. */
  readonly program?: readonly string[];
}

/** The node agent: both take the same command line and the same configuration file. */
export async function nodeAgent(
  agent: Exclude<Agent, "none">,
  layout: ClusterLayout,
  node: NodeLayout,
  parts: Parts,
  {
    standalone = false,
    dualStack = false,
    configuration = {},
    flags: more = [],
    commandLine,
    deckhand,
    program: given,
  }: AgentOptions = {},
): Promise<Program> {
  const user = `system:node:${node.name}`;
  const client = await issueClientCertificate(layout, `kubelet-${node.name}`, { user, groups: ["system:nodes"] });
  await writeKubeconfig(layout, node.kubeconfig, client);
  const resolvConf = join(node.folder, "resolv.conf");
  await writeFile(resolvConf, `nameserver ${SERVICE_DNS}\n`);
  const config = join(node.folder, "kubelet.json");
  const usual = kubeletConfiguration(layout, node, resolvConf);
  const stated = { ...usual, ...(standalone ? WITHOUT_API : {}), ...configuration };
  await writeFile(config, JSON.stringify(stated, undefined, 2));
  const ours = deckhand ?? [process.execPath, await builtBundle()];
  const program = given ?? { go: [parts.path("kubelet")], deckhand: [...ours, "kubelet"] }[agent];
  const flags = commandLine ?? [
    `--config=${config}`,
    ...(standalone ? [] : [`--kubeconfig=${node.kubeconfig}`]),
    `--node-ip=${[node.address, ...(dualStack ? [node.ipv6Address] : [])].join(",")}`,
    `--hostname-override=${node.name}`,
    ...more,
  ];
  // Where no server is wanted, Deckhand's health still answers once it has begun.
  const port = { go: 10250, deckhand: 10248 }[agent];
  return {
    name: `kubelet@${node.name}`,
    part: { go: "kubelet", deckhand: "deckhand" }[agent],
    command: behindOwnKernel(node.folder, [...program, ...flags]),
    env: deckhand === undefined && given === undefined ? compiledCode() : {},
    ready: { kind: "listens", port },
  };
}

/** Where this process keeps what Node made of the sources, if it does. */
function compiledCode(): Readonly<Record<string, string>> {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

/** Of the sources. */
export const DECKHAND_MAIN = join(import.meta.dirname, "..", "..", "src", "app", "main.ts");

/** Nobody can be asked who a caller is. */
const WITHOUT_API = {
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
};

function kubeletConfiguration(layout: ClusterLayout, node: NodeLayout, resolvConf: string): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: `unix://${node.containerdSocket}`,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: pki(layout, "ca.crt") },
    },
    authorization: { mode: "Webhook" },
    cgroupDriver: "cgroupfs",
    cgroupRoot: node.cgroupParent,
    failCgroupV1: false,
    failSwapOn: false,
    clusterDNS: [SERVICE_DNS],
    clusterDomain: "cluster.local",
    resolvConf,
    maxPods: 250,
    // The machine is shared and its disk may be fuller than a node's should be.
    evictionHard: { "memory.available": "1%", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 99,
    imageGCLowThresholdPercent: 98,
    // Its default lies outside the folders a node in a box has for itself.
    volumePluginDir: "/var/lib/kubelet/volume-plugins",
    staticPodPath: join(node.folder, "manifests"),
  };
}

export async function kubeProxy(layout: ClusterLayout, node: NodeLayout, parts: Parts): Promise<Program> {
  const kubeconfig = join(node.folder, "kube-proxy.kubeconfig");
  await writeKubeconfig(layout, kubeconfig, {
    certFile: pki(layout, "kube-proxy.crt"),
    keyFile: pki(layout, "kube-proxy.key"),
  });
  const command = [
    parts.path("kube-proxy"),
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${node.name}`,
    "--proxy-mode=iptables",
    `--cluster-cidr=${POD_RANGE}`,
    // The conntrack settings of the machine are not ours to write.
    ...[
      "max-per-core",
      "min",
      "tcp-timeout-established",
      "tcp-timeout-close-wait",
      "udp-timeout",
      "udp-timeout-stream",
    ].map((name) => `--conntrack-${name}=0`),
  ];
  return { name: `kube-proxy@${node.name}`, command, ready: { kind: "listens", port: 10256 } };
}

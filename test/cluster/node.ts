/**
 * An isolated node: it has its own network, mount and UTS namespaces, with `/var/lib` and `/var/log` bound to its own
 * directories and its own tmpfs on `/run`. So two nodes on one machine share no fixed path. Its mounts end with its
 * last process.
 */
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { builtBundle } from "../support/built-program.ts";
import { issueClientCertificate, pki, writeKubeconfig } from "./certificates.ts";
import { makeCgroup } from "./cgroups.ts";
import { command } from "./command.ts";
import { compatibilityFlags } from "./compatibility.ts";
import type { Program } from "./control-plane.ts";
import { MIRRORED, PAUSE_IMAGE } from "./images.ts";
import { type ClusterLayout, type NodeLayout, POD_RANGE, SERVICE_DNS } from "./layout.ts";
import { behindOwnKernel, makeSysctls } from "./own-kernel.ts";
import type { Parts } from "./parts.ts";

export const AGENTS = ["none", "go", "deckhand"] as const;
export type Agent = (typeof AGENTS)[number];

/**
 * The process that keeps namespaces alive. All other programs of a node, or of the control plane, enter the namespaces
 * through it. With `ownCgroups`, the lines of `mountOwnHierarchies`, it also has a cgroup namespace.
 */
export function anchor(
  name: string,
  hostname: string,
  box?: NodeLayout,
  {
    ownCgroups,
    disks = [],
  }: { readonly ownCgroups?: readonly string[] | undefined; readonly disks?: readonly NodeDisk[] } = {},
): Program {
  const script = ["mount --make-rshared /", `hostname ${hostname}`, ...(ownCgroups ?? [])];
  if (box !== undefined) {
    script.push(
      `mount --bind ${join(box.directory, "lib")} /var/lib`,
      `mount --bind ${join(box.directory, "log")} /var/log`,
      "mount -t tmpfs tmpfs /run",
      // The Go kubelet's cAdvisor asks containerd for the owner of a cgroup, at a hardcoded address.
      "mkdir -m 0711 /run/containerd",
      `ln -s ${box.containerdSocket} /run/containerd/containerd.sock`,
      ...disks.flatMap(({ path }, index) => [`mkdir -p ${path}`, `mount -o loop ${diskFile(box, index)} ${path}`]),
    );
  }
  const namespaces = ["--net", "--mount", "--uts", ...(ownCgroups === undefined ? [] : ["--cgroup"])];
  const unshare = ["unshare", ...namespaces, "--propagation", "private", "--"];
  const command = [...unshare, "/bin/sh", "-ec", `${script.join("\n")}\nexec sleep infinity`];
  // The cgroup in which a process creates a cgroup namespace is the root of that namespace.
  const cgroup = ownCgroups === undefined || box === undefined ? {} : { cgroup: box.cgroupParent };
  return { name, command, ...cgroup, ready: { kind: "became", program: "sleep" } };
}

/** A file system of the node's own, on a loop device that ends with the node's mounts. */
export interface NodeDisk {
  /** Where it is mounted: `/var/lib`, or a directory below it or below `/var/log`. */
  readonly path: string;
  readonly megabytes: number;
  readonly inodes: number;
}

const diskFile = ({ directory }: NodeLayout, index: number): string => join(directory, `disk-${index}`);

export async function makeNodeDisks(node: NodeLayout, disks: readonly NodeDisk[]): Promise<void> {
  for (const [index, { megabytes, inodes }] of disks.entries()) {
    const file = diskFile(node, index);
    await writeFile(file, "");
    await truncate(file, megabytes * 2 ** 20);
    // Neither a journal nor blocks that are reserved for root: what a file takes is what becomes less.
    await command("mkfs.ext4", ["-q", "-m", "0", "-O", "^has_journal", "-N", String(inodes), file]);
  }
}

export async function makeNodeDirectories(node: NodeLayout): Promise<void> {
  for (const directory of ["lib", "log", "log/pods", "cni"])
    await mkdir(join(node.directory, directory), { recursive: true });
  await makeSysctls(node.directory);
}

/** Makes the cgroup of a program on a node with its own cgroups, where a service manager would put a service. */
export async function makeServiceCgroup({ cgroupParent }: NodeLayout, name: string): Promise<string> {
  const cgroup = `${cgroupParent}/system.slice/${name}.service`;
  await makeCgroup(cgroup);
  return cgroup;
}

export async function containerd(
  layout: ClusterLayout,
  node: NodeLayout,
  parts: Parts,
  dualStack: boolean,
): Promise<Program> {
  const cni = join(node.directory, "cni");
  await writeFile(join(cni, "10-bridge.conflist"), JSON.stringify(cniConfig(node, dualStack)));
  const hosts = join(node.directory, "certs.d");
  for (const registry of [...MIRRORED, layout.registryOpen, layout.registryGuarded]) {
    const address = registry === layout.registryGuarded ? layout.registryGuarded : layout.registryOpen;
    await mkdir(join(hosts, registry), { recursive: true });
    const host = `server = "http://${address}"\n\n[host."http://${address}"]\n  capabilities = ["pull", "resolve"]\n`;
    await writeFile(join(hosts, registry, "hosts.toml"), host);
  }
  const config = join(node.directory, "containerd.toml");
  await writeFile(config, containerdConfig(node, { cniBin: parts.directory("cni"), cniConf: cni, hosts }));
  // containerd finds the shim and runc on its PATH.
  const path = [parts.directory("containerd"), parts.directory("runc"), "/usr/sbin", "/usr/bin", "/sbin", "/bin"].join(
    ":",
  );
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

/** Deviations from the usual start of an agent. */
export interface AgentOptions {
  /** Runs without an API server. */
  readonly standalone?: boolean;
  /** The node and its pods also have an IPv6 address, from the cluster's start on. */
  readonly dualStack?: boolean;
  /** Fields of the configuration file; they override the usual ones. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Further flags, after the usual ones, which they override. */
  readonly flags?: readonly string[];
  /** The whole command line, without any of the usual flags. */
  readonly commandLine?: readonly string[];
  /** Deckhand's program without its subcommand; unless given, the bundle built from these sources. */
  readonly deckhand?: readonly string[];
  /** A program that accepts the kubelet's flags unchanged, in place of the agent's usual program. */
  readonly program?: readonly string[];
}

/** Returns the node agent's program. Both agents take the same command line and the same configuration file. */
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
  const resolvConf = join(node.directory, "resolv.conf");
  await writeFile(resolvConf, `nameserver ${SERVICE_DNS}\n`);
  const config = join(node.directory, "kubelet.json");
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
    ...(agent === "deckhand" ? compatibilityFlags : []),
    ...more,
  ];
  // Deckhand's health port answers once it has started, even when the API on port 10250 is disabled.
  const port = { go: 10250, deckhand: 10248 }[agent];
  return {
    name: `kubelet@${node.name}`,
    part: { go: "kubelet", deckhand: "deckhand" }[agent],
    command: behindOwnKernel(node.directory, [...program, ...flags]),
    env: deckhand === undefined && given === undefined ? compiledCode() : {},
    ready: { kind: "listens", port },
  };
}

/** Passes on this process's compile cache directory of Node.js, if it has one. */
function compiledCode(): Readonly<Record<string, string>> {
  const { NODE_COMPILE_CACHE: directory } = process.env;
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory };
}

/** Deckhand's entry point in the sources. */
export const DECKHAND_MAIN = join(import.meta.dirname, "..", "..", "src", "app", "main.ts");

/** Without an API server no one can authenticate or authorize callers. */
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
    // The machine is shared, and its disk may be fuller than a node's should be.
    evictionHard: { "memory.available": "1%", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 99,
    imageGCLowThresholdPercent: 98,
    // The default lies outside the node's own directories.
    volumePluginDir: "/var/lib/kubelet/volume-plugins",
    staticPodPath: join(node.directory, "manifests"),
  };
}

export async function kubeProxy(layout: ClusterLayout, node: NodeLayout, parts: Parts): Promise<Program> {
  const kubeconfig = join(node.directory, "kube-proxy.kubeconfig");
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
    // kube-proxy must not write the machine's conntrack settings.
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

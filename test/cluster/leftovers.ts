/**
 * Finds what a cluster left on the machine. `down` ends with this check and fails with its list.
 *
 * Things that carry the cluster's name or slot are found by it. Things that any program might have created in a fixed
 * place are compared with the machine's state before `up`.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheRoot, exists } from "./cache.ts";
import { cgroupsLeft, hierarchies, killIfThere, processesBelow } from "./cgroups.ts";
import { command } from "./command.ts";
import { type ClusterLayout, clustersRoot } from "./layout.ts";
import { interfaceExists } from "./network.ts";
import { pause } from "./wait.ts";

/** The state of the machine, as far as a cluster might change it outside its own directories. */
export interface MachineState {
  readonly chains: readonly string[];
  readonly namespaces: readonly string[];
  readonly cgroups: readonly string[];
  readonly paths: readonly string[];
  readonly interfaces: readonly string[];
  readonly mounts: readonly string[];
}

const FIXED_PATHS = [
  "/var/lib/kubelet",
  "/var/lib/cni",
  "/var/lib/containerd",
  "/var/log/pods",
  "/var/log/containers",
  "/run/containerd",
  "/run/netns",
  "/run/runc",
  "/run/xtables.lock",
  "/etc/cni",
  "/etc/kubernetes",
  "/opt/cni",
  "/opt/containerd",
  "/usr/libexec/kubernetes",
] as const;

export async function machineState(): Promise<MachineState> {
  const roots = await hierarchies();
  const cgroups = await Promise.all(
    roots.map(async (root) => {
      const entries = await readdir(root, { withFileTypes: true });
      return entries.filter((e) => e.isDirectory() && !e.name.startsWith("deckhand-")).map((e) => join(root, e.name));
    }),
  );
  const present = await Promise.all(FIXED_PATHS.map(async (path) => ((await exists(path)) ? [path] : [])));
  return {
    chains: await packetFilterChains(),
    namespaces: await readdir("/run/netns").catch(() => []),
    cgroups: cgroups.flat().sort(),
    paths: present.flat(),
    // Interfaces of clusters are found by name: several clusters may be up.
    interfaces: (await readdir("/sys/class/net")).filter((name) => !/^deckhand\d+$/.test(name)),
    mounts: (await mountPoints()).filter((path) => !isLookedAfter(path)),
  };
}

/**
 * True for mounts of a cluster, which that cluster's own check covers, and for mounts in the scratch directory of a
 * test that may be running.
 */
const isLookedAfter = (path: string): boolean =>
  path.startsWith(`${clustersRoot()}/`) || path.startsWith(join(tmpdir(), "deckhand-"));

/**
 * Kills the last commands of a killed maker: programs from our cache that were given a path of the cluster. An example
 * is an import into a runtime that is gone, which would wait for it forever. Other processes there belong to a user who
 * is inspecting the cluster; they are reported instead.
 */
export async function endLastCommands(directory: string): Promise<void> {
  const endMs = performance.now() + LAST_COMMANDS_MS;
  while (performance.now() < endMs) {
    const pids = await processesUsing(directory);
    const programs = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/exe`).catch(() => "")));
    const ours = pids.filter((_, index) => programs[index]?.startsWith(`${cacheRoot()}/`));
    if (ours.length === 0) return;
    for (const pid of ours) killIfThere(pid);
    await pause(100);
  }
}

const LAST_COMMANDS_MS = 5_000;

/** Returns one line for each thing that is still there. */
export async function leftoversOf(layout: ClusterLayout, before: MachineState): Promise<readonly string[]> {
  const now = await machineState();
  const added = (kind: keyof MachineState, what: string) =>
    now[kind].filter((item) => !before[kind].includes(item)).map((item) => `${what} ${item}`);
  return [
    ...(await processesBelow(layout.cgroupParent)).map((pid) => `process ${pid} in the cluster's cgroup`),
    ...(await processesUsing(layout.directory)).map((pid) => `process ${pid} works below ${layout.directory}`),
    ...(await cgroupsLeft(layout.cgroupParent)).map((path) => `cgroup ${path}`),
    ...(await mountsBelow(layout.directory)).map((path) => `mount ${path}`),
    ...(await loopDevicesBelow(layout.directory)).map((name) => `loop device ${name}`),
    ...((await interfaceExists(layout.machineInterface)) ? [`interface ${layout.machineInterface}`] : []),
    ...((await exists(layout.directory)) ? [`directory ${layout.directory}`] : []),
    ...added("chains", "packet filter chain"),
    ...added("namespaces", "network namespace"),
    ...added("cgroups", "cgroup"),
    ...added("paths", "path"),
    ...added("interfaces", "interface"),
    ...added("mounts", "mount"),
  ];
}

export async function mountsBelow(directory: string): Promise<readonly string[]> {
  return (await mountPoints()).filter((path) => path.startsWith(`${directory}/`));
}

async function mountPoints(): Promise<readonly string[]> {
  return (await readFile("/proc/self/mounts", "utf8")).split("\n").flatMap((line) => line.split(" ")[1] ?? []);
}

async function packetFilterChains(): Promise<readonly string[]> {
  let table = "";
  const chains: string[] = [];
  for (const line of (await command("nft", ["list", "chains"])).split("\n")) {
    const words = line.trim().split(" ");
    if (words[0] === "table") table = words.slice(1, 3).join(" ");
    if (words[0] === "chain") chains.push(`${table} ${words[1]}`);
  }
  return chains;
}

async function loopDevicesBelow(directory: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of (await readdir("/sys/block")).filter((each) => each.startsWith("loop"))) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, "utf8").catch(() => "");
    if (file.startsWith(`${directory}/`)) found.push(name);
  }
  return found;
}

/** Finds processes that name a file of the cluster on their command line, in whatever cgroup they run. */
async function processesUsing(directory: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const entry of await readdir("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid || pid === process.ppid) continue;
    const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    // Only whole arguments below the directory count: a shell that merely mentions it belongs to a user who is
    // inspecting the cluster.
    if (
      commandLine
        .split("\0")
        .some((argument) => argument.startsWith(`${directory}/`) || argument.includes(`=${directory}/`))
    ) {
      found.push(pid);
    }
  }
  return found;
}

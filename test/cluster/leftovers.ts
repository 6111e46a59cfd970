/**
 * What a cluster left on the machine. `down` ends by asking this, and fails with the list.
 *
 * Things that carry the cluster's name or slot are looked for by it; things that any program might have made in a fixed place are
 * compared with how the machine was before `up`.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "./cache.ts";
import { cgroupsLeft, hierarchies, processesBelow } from "./cgroups.ts";
import { tryCommand } from "./command.ts";
import type { ClusterLayout } from "./layout.ts";
import { interfaceExists } from "./network.ts";

/** How the machine was, as far as a cluster might change it outside its own folders. */
export interface MachineState {
  readonly chains: readonly string[];
  readonly namespaces: readonly string[];
  readonly cgroups: readonly string[];
  readonly paths: readonly string[];
  readonly loopDevices: readonly string[];
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
    loopDevices: await loopDevices(),
  };
}

/** One line for each thing that is still there. */
export async function leftoversOf(layout: ClusterLayout, before: MachineState): Promise<readonly string[]> {
  const now = await machineState();
  const added = (kind: keyof MachineState, what: string) =>
    now[kind].filter((item) => !before[kind].includes(item)).map((item) => `${what} ${item}`);
  return [
    ...(await processesBelow(layout.cgroupParent)).map((pid) => `process ${pid} in the cluster's cgroup`),
    ...(await processesUsing(layout.folder)).map((pid) => `process ${pid} works below ${layout.folder}`),
    ...(await cgroupsLeft(layout.cgroupParent)).map((path) => `cgroup ${path}`),
    ...(await mountsBelow(layout.folder)).map((path) => `mount ${path}`),
    ...((await interfaceExists(layout.machineInterface)) ? [`interface ${layout.machineInterface}`] : []),
    ...((await exists(layout.folder)) ? [`folder ${layout.folder}`] : []),
    ...added("chains", "packet filter chain"),
    ...added("namespaces", "network namespace"),
    ...added("cgroups", "cgroup"),
    ...added("paths", "path"),
    ...added("loopDevices", "loop device"),
  ];
}

export async function mountsBelow(folder: string): Promise<readonly string[]> {
  const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" ")[1] ?? "");
  return mounts.filter((path) => path.startsWith(`${folder}/`));
}

async function packetFilterChains(): Promise<readonly string[]> {
  const { code, stdout } = await tryCommand("nft", ["list", "chains"]);
  if (code !== 0) return [];
  let table = "";
  const chains: string[] = [];
  for (const line of stdout.split("\n")) {
    const words = line.trim().split(" ");
    if (words[0] === "table") table = words.slice(1, 3).join(" ");
    if (words[0] === "chain") chains.push(`${table} ${words[1]}`);
  }
  return chains;
}

async function loopDevices(): Promise<readonly string[]> {
  const names = (await readdir("/sys/block")).filter((name) => name.startsWith("loop"));
  const backed = await Promise.all(
    names.map(async (name) => ((await exists(`/sys/block/${name}/loop/backing_file`)) ? [name] : [])),
  );
  return backed.flat();
}

/** Processes that are neither in the cluster's cgroup nor ours, yet have a file of the cluster open or named on their command line. */
async function processesUsing(folder: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const entry of await readdir("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid || pid === process.ppid) continue;
    const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    // Only whole arguments below the folder: a shell that merely mentions it is somebody looking.
    if (
      commandLine.split("\0").some((argument) => argument.startsWith(`${folder}/`) || argument.includes(`=${folder}/`))
    ) {
      found.push(pid);
    }
  }
  return found;
}

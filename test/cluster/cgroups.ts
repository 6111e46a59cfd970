/**
 * The cluster's own cgroups, in every hierarchy this machine has. All its processes live below them, which is also how `down`
 * finds each of them: by where it runs, not by its name.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "./cache.ts";
import { waitUntil } from "./wait.ts";

/** Mount points of all v1 hierarchies; of the one v2 hierarchy where there is no v1. */
export async function hierarchies(): Promise<readonly string[]> {
  const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" "));
  const points = (type: string) => mounts.filter((m) => m[2] === type).map((m) => m[1] ?? "");
  const v1 = points("cgroup");
  return v1.length > 0 ? v1 : points("cgroup2");
}

/** In a hybrid set-up the v2 hierarchy stands beside v1 and a runtime may leave folders there too. */
async function allHierarchies(): Promise<readonly string[]> {
  const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" "));
  return mounts.filter((m) => m[2] === "cgroup" || m[2] === "cgroup2").map((m) => m[1] ?? "");
}

/** Makes `path` and what is above it. In v2 only leaves may hold processes: whoever runs here runs below no other's cgroup. */
export async function makeCgroup(path: string, roots?: readonly string[]): Promise<void> {
  for (const root of roots ?? (await hierarchies())) {
    const second = await exists(join(root, "cgroup.controllers"));
    let parent = root;
    for (const segment of path.split("/").filter((s) => s !== "")) {
      const folder = join(parent, segment);
      await mkdir(folder, { recursive: true });
      await (second ? handDownControllers(parent) : copyCpuset(parent, folder));
      parent = folder;
    }
  }
}

/** Without this the children of a v2 cgroup have none of its controllers. */
async function handDownControllers(parent: string): Promise<void> {
  const controllers = (await readFile(join(parent, "cgroup.controllers"), "utf8")).trim().split(" ").filter(Boolean);
  await writeFile(join(parent, "cgroup.subtree_control"), controllers.map((name) => `+${name}`).join(" "));
}

/** A v1 cpuset starts empty, and nothing may run in it until it has CPUs and memory nodes. */
async function copyCpuset(parent: string, folder: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const inherited = join(parent, file);
    if (await exists(inherited)) await writeFile(join(folder, file), await readFile(inherited, "utf8"));
  }
}

/** The file a process writes its own pid to, to live and be found below `path` from its first instruction on. */
export async function procsFiles(path: string): Promise<readonly string[]> {
  return (await hierarchies()).map((root) => join(root, path, "cgroup.procs"));
}

export async function processesBelow(path: string): Promise<readonly number[]> {
  const pids = new Set<number>();
  for (const root of await allHierarchies()) {
    for (const folder of await foldersBelow(join(root, path))) {
      const procs = await readFile(join(folder, "cgroup.procs"), "utf8").catch(() => "");
      for (const line of procs.split("\n")) if (line !== "" && line !== "0") pids.add(Number(line));
    }
  }
  return [...pids];
}

/** Kills everything below `path`, as often as it takes for nothing to be left. */
export async function killAllBelow(path: string): Promise<void> {
  await waitUntil(`every process below cgroup ${path} to end`, 30_000, async () => {
    return (await killNowBelow(path)) === 0;
  });
}

async function killNowBelow(path: string): Promise<number> {
  const pids = await processesBelow(path);
  for (const pid of pids) killIfThere(pid);
  return pids.length;
}

export function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Removes `path` and what is below it, leaves first, and whoever still came in: a killed maker's last child may be on its way. */
export async function removeCgroup(path: string): Promise<void> {
  for (const root of await allHierarchies()) {
    const folders = await foldersBelow(join(root, path));
    for (const folder of folders.toReversed()) {
      await waitUntil(`cgroup ${folder} to be removable`, 10_000, async () => {
        try {
          await rmdir(folder);
          return true;
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          if (code === "ENOENT") return true;
          if (code !== "EBUSY" && code !== "ENOTEMPTY") throw error;
          await killNowBelow(path);
          return false;
        }
      });
    }
  }
}

/** What of `path` is still there, in any hierarchy. */
export async function cgroupsLeft(path: string): Promise<readonly string[]> {
  const left: string[] = [];
  for (const root of await allHierarchies()) left.push(...(await foldersBelow(join(root, path))));
  return left;
}

/** `folder` and all below it, parents first; empty when there is no such folder. */
async function foldersBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const found = [folder];
  for (const entry of entries) if (entry.isDirectory()) found.push(...(await foldersBelow(join(folder, entry.name))));
  return found;
}

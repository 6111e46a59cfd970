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

export async function makeCgroup(path: string): Promise<void> {
  for (const root of await hierarchies()) {
    let folder = root;
    for (const segment of path.split("/").filter((s) => s !== "")) {
      const parent = folder;
      folder = join(folder, segment);
      await mkdir(folder, { recursive: true });
      // A v1 cpuset starts empty, and nothing may run in it until it has CPUs and memory nodes.
      for (const file of ["cpuset.cpus", "cpuset.mems"]) {
        const inherited = join(parent, file);
        if (await exists(inherited)) await writeFile(join(folder, file), await readFile(inherited, "utf8"));
      }
      const controllers = join(parent, "cgroup.controllers");
      if (await exists(controllers)) {
        const wanted = (await readFile(controllers, "utf8")).trim().split(" ").filter(Boolean);
        await writeFile(join(parent, "cgroup.subtree_control"), wanted.map((c) => `+${c}`).join(" "));
      }
    }
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
    const pids = await processesBelow(path);
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    return pids.length === 0;
  });
}

/** Removes `path` and what is below it, leaves first. */
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
          if (code === "EBUSY" || code === "ENOTEMPTY") return false;
          throw error;
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

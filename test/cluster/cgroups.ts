/**
 * The cluster's own cgroups, in every hierarchy of this machine. All processes of the cluster run below them, so `down`
 * finds each process by its cgroup, not by its name.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { exists } from "./cache.ts";
import { waitUntil } from "./wait.ts";

/** Mount points of all v1 hierarchies; without v1, of the one v2 hierarchy. */
export async function hierarchies(): Promise<readonly string[]> {
  const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" "));
  const points = (type: string) => mounts.filter((m) => m[2] === type).map((m) => m[1] ?? "");
  const v1 = points("cgroup");
  return v1.length > 0 ? v1 : points("cgroup2");
}

/**
 * Shell lines that replace the mounts of all v1 hierarchies by mounts that begin at the cgroup namespace of the shell.
 */
export async function mountOwnHierarchies(): Promise<readonly string[]> {
  return ownHierarchyMounts(await readFile("/proc/self/mounts", "utf8"));
}

/** From the content of /proc/self/mounts. */
export function ownHierarchyMounts(source: string): readonly string[] {
  const mounts = source.split("\n").map((line) => line.split(" "));
  const v1 = mounts.filter((mount) => mount[2] === "cgroup");
  if (v1.length === 0) throw new Error("a node with its own cgroups needs cgroup v1 on this machine");
  const [top] = v1.map((mount) => dirname(mount[1] ?? ""));
  return [
    `umount --recursive ${top}`,
    `mount -t tmpfs tmpfs ${top}`,
    ...v1.flatMap(([, point, , options = ""]) => [
      `mkdir ${point}`,
      `mount -t cgroup -o ${hierarchyOptions(options)} cgroup ${point}`,
    ]),
  ];
}

/** The options that identify a hierarchy: its controllers, or its name. */
function hierarchyOptions(options: string): string {
  const own = options.split(",").filter((option) => !GENERIC_OPTIONS.test(option));
  return [...(own.some((option) => option.startsWith("name=")) ? ["none"] : []), ...own].join(",");
}

const GENERIC_OPTIONS = /^(?:r[ow]|relatime|no.*|xattr|clone_children|release_agent=.*)$/;

/** In a hybrid setup the v2 hierarchy exists beside v1, and a runtime may leave directories there too. */
async function allHierarchies(): Promise<readonly string[]> {
  const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" "));
  return mounts.filter((m) => m[2] === "cgroup" || m[2] === "cgroup2").map((m) => m[1] ?? "");
}

/**
 * Creates `path` and its parents. In v2 only leaves may hold processes, so no process may run in a cgroup that is the
 * parent of another.
 */
export async function makeCgroup(path: string, roots?: readonly string[]): Promise<void> {
  for (const root of roots ?? (await hierarchies())) {
    const second = await exists(join(root, "cgroup.controllers"));
    let parent = root;
    for (const segment of path.split("/").filter((s) => s !== "")) {
      const directory = join(parent, segment);
      await mkdir(directory, { recursive: true });
      await (second ? handDownControllers(parent) : copyCpuset(parent, directory));
      parent = directory;
    }
  }
}

/** Without this, the children of a v2 cgroup have none of its controllers. */
async function handDownControllers(parent: string): Promise<void> {
  const controllers = (await readFile(join(parent, "cgroup.controllers"), "utf8")).trim().split(" ").filter(Boolean);
  await writeFile(join(parent, "cgroup.subtree_control"), controllers.map((name) => `+${name}`).join(" "));
}

/** A v1 cpuset starts empty, and no process may run in it until it has CPUs and memory nodes. */
async function copyCpuset(parent: string, directory: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const inherited = join(parent, file);
    if (await exists(inherited)) await writeFile(join(directory, file), await readFile(inherited, "utf8"));
  }
}

/**
 * The files to which a process writes its own PID, so that it runs below `path` from its first instruction on and can
 * be found there.
 */
export async function procsFiles(path: string): Promise<readonly string[]> {
  return (await hierarchies()).map((root) => join(root, path, "cgroup.procs"));
}

export async function processesBelow(path: string): Promise<readonly number[]> {
  const pids = new Set<number>();
  for (const root of await allHierarchies()) {
    for (const directory of await directoriesBelow(join(root, path))) {
      const procs = await readFile(join(directory, "cgroup.procs"), "utf8").catch(() => "");
      for (const line of procs.split("\n")) if (line !== "" && line !== "0") pids.add(Number(line));
    }
  }
  return [...pids];
}

/** Kills every process below `path`, repeatedly until none is left. */
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

/**
 * Removes `path` and its descendants, leaves first. Kills processes that still join them: the last child of a killed
 * maker may be starting.
 */
export async function removeCgroup(path: string): Promise<void> {
  for (const root of await allHierarchies()) {
    const directories = await directoriesBelow(join(root, path));
    for (const directory of directories.toReversed()) {
      await waitUntil(`cgroup ${directory} to be removable`, 10_000, async () => {
        try {
          await rmdir(directory);
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

/** The directories of `path` that still exist, in any hierarchy. */
export async function cgroupsLeft(path: string): Promise<readonly string[]> {
  const left: string[] = [];
  for (const root of await allHierarchies()) left.push(...(await directoriesBelow(join(root, path))));
  return left;
}

/** `directory` and all directories below it, parents first. Empty when `directory` does not exist. */
async function directoriesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const found = [directory];
  for (const entry of entries)
    if (entry.isDirectory()) found.push(...(await directoriesBelow(join(directory, entry.name))));
  return found;
}

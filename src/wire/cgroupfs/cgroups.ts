/**
 * The `Cgroups` port on the kernel's cgroup files, for both cgroup versions and both cgroup drivers.
 *
 * `apply` reads first and writes only values that differ, so that a check every minute is cheap. A failed write does
 * not stop the others: the kernel refuses a memory limit below current usage, and the cgroup still gets its share of
 * the CPU.
 */

import { join } from "node:path";
import { assert } from "../../base/assert.ts";
import { doublingMs } from "../../base/backoff.ts";
import { errorText } from "../../base/error-text.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { cgroupPath, childName, quotedName } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import { watchDirectory } from "../host/watch-directory.ts";
import type { GroupDriver } from "./driver.ts";
import type { Hierarchies } from "./hierarchies.ts";
import { readMemory } from "./memory.ts";
import type { Setting } from "./settings.ts";
import type { CgroupTree } from "./tree.ts";
import { cgroupV1 } from "./v1.ts";
import { cgroupV2 } from "./v2.ts";
import type { CgroupVersion } from "./version.ts";

const KILL_ATTEMPTS = 5;
const REMOVE_ATTEMPTS = 10;
const RETRY_MS_FIRST = 5;
/** Between two checks that the watched cgroup is still there; kubepods is hardly ever created again. */
const EVENT_PAUSES = { watchedMs: 60_000, unwatchedMs: 5000 };
const REMOVE_RETRY = { firstMs: RETRY_MS_FIRST, maxMs: 500 };

export interface CgroupfsOptions {
  readonly hierarchies: Hierarchies;
  /** The cgroup that all names are relative to; empty means the root cgroup. */
  readonly root: CgroupName;
  readonly driver: GroupDriver;
  readonly tree: CgroupTree;
  readonly clock: Clock;
}

export function createCgroups({ hierarchies, root, driver, tree, clock }: CgroupfsOptions): Cgroups {
  const version = hierarchies.version === 1 ? cgroupV1(hierarchies.mounts, tree) : cgroupV2(hierarchies.path, tree);
  const wholeName = (name: CgroupName) => [...root, ...name];
  const pathOf = (name: CgroupName) => cgroupPath(wholeName(name), driver.name);
  const validationError = (name: CgroupName) => version.validationError(pathOf(name), quotedName(wholeName(name)));
  const below = (name: CgroupName) => groupsBelow(tree, version, pathOf(name));
  return {
    version: version.version,
    driver: driver.name,
    pathOf,
    async hasSwapAccounting(name) {
      const directory = await version.directoryOf("memory", pathOf(name));
      const file = version.version === 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
      return directory !== undefined && (await tree.read(join(directory, file))) !== undefined;
    },
    exists: async (name) => (await validationError(name)) === undefined,
    validationError,
    async apply(name, values) {
      const path = pathOf(name);
      try {
        if ((await validationError(name)) !== undefined) {
          await driver.begin(wholeName(name));
          await version.make(path);
        }
        const settled = driver.settle(values);
        const wrong = await wrongFiles(tree, version, path, settled);
        await driver.hold(wholeName(name), settled, wrong.length === 0 ? "inPlace" : "differs");
        await writeAll(tree, wrong);
      } catch (error) {
        throw new Error(`cgroup ${path}: ${errorText(error)}`, { cause: error });
      }
    },
    async children(name) {
      const names = new Set<string>();
      for (const directory of version.roots) {
        for (const child of await tree.children(join(directory, pathOf(name)))) {
          const part = childName(wholeName(name), child, driver.name);
          if (part !== undefined) names.add(part);
        }
      }
      return [...names].sort();
    },
    memory: (name) => readMemory(tree, version, pathOf(name)),
    async *memoryEvents(name, signal) {
      const [directory] = version.version === 2 ? version.roots : [];
      if (directory === undefined) return;
      // The kernel reports a change of `memory.events` to watches of its directory too.
      const hints = watchDirectory(join(directory, pathOf(name)), { clock, pauses: EVENT_PAUSES, signal });
      for await (const _ of hints) yield;
    },
    processes: async (name) => processesOf(tree, (await below(name)).flat()),
    async destroy(name, signal) {
      assert(name.length > 0, "the group everything is in is not ours to remove");
      try {
        const tops = version.roots.map((root) => join(root, pathOf(name)));
        // The cgroup is usually empty. If only the kernel manages cgroups, removing the directories is all there is to
        // do.
        if (driver.name === "cgroupfs" && (await removedAtOnce(tree, tops))) return;
        const top = version.version === 2 ? tops[0] : undefined;
        await killAll(tree, clock, { top, groups: async () => (await below(name)).flat() }, signal);
        // The directories stay until then: after an interrupted removal they are how the cgroup is found again.
        await driver.end(wholeName(name), signal);
        await Promise.all((await below(name)).map((directories) => removeAll(tree, clock, directories, signal)));
      } catch (error) {
        if (signal.aborted) throw error;
        throw new Error(`cgroup ${pathOf(name)}: ${errorText(error)}`, { cause: error });
      }
    },
  };
}

interface WrongFile {
  readonly setting: Setting;
  /** The file's path; undefined if there is no such controller. */
  readonly path: string | undefined;
}

async function wrongFiles(
  tree: CgroupTree,
  version: CgroupVersion,
  path: string,
  values: CgroupValues,
): Promise<readonly WrongFile[]> {
  const wrong: WrongFile[] = [];
  for (const setting of version.settings(values)) {
    const directory = await version.directoryOf(setting.controller, path);
    // A machine may lack huge pages to limit; every other missing controller is an error.
    if (directory === undefined && setting.controller === "hugetlb") continue;
    const file = directory === undefined ? undefined : join(directory, setting.file);
    if (file === undefined || !(await isInPlace(tree, file, setting))) wrong.push({ setting, path: file });
  }
  return wrong;
}

async function isInPlace(tree: CgroupTree, file: string, setting: Setting): Promise<boolean> {
  const shown = (await tree.read(file))?.trim();
  if (shown === undefined) return setting.optional === true;
  return shown === setting.text || setting.alsoShownAs?.includes(shown) === true;
}

async function writeAll(tree: CgroupTree, wrong: readonly WrongFile[]): Promise<void> {
  const refused: WrongFile[] = [];
  for (const file of wrong) await write(tree, file).catch(() => refused.push(file));
  // Retry once: a value may be refused until another is written, such as a short period while the quota is still large.
  const failures: unknown[] = [];
  for (const file of refused) await write(tree, file).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, failures.map(errorText).join("; "));
}

async function write(tree: CgroupTree, { setting, path }: WrongFile): Promise<void> {
  if (path === undefined) throw new Error(`no controller for ${setting.file}`);
  try {
    await tree.write(path, setting.text);
  } catch (error) {
    throw new Error(`cannot write ${setting.text} to ${setting.file}: ${errorText(error)}`, { cause: error });
  }
}

/** The cgroup's directory and all directories below it, parents first: one list per hierarchy that has the cgroup. */
async function groupsBelow(
  tree: CgroupTree,
  version: CgroupVersion,
  path: string,
): Promise<readonly (readonly string[])[]> {
  const found = await Promise.all(version.roots.map((root) => groupAndBelow(tree, join(root, path))));
  return found.filter((directories) => directories.length > 0);
}

async function groupAndBelow(tree: CgroupTree, directory: string): Promise<readonly string[]> {
  if (!(await tree.isGroup(directory))) return [];
  const found = [directory];
  const visit = async (parent: string) => {
    for (const child of await tree.children(parent)) {
      found.push(join(parent, child));
      await visit(join(parent, child));
    }
  };
  await visit(directory);
  return found;
}

async function processesOf(tree: CgroupTree, directories: readonly string[]): Promise<readonly number[]> {
  const pids = new Set<number>();
  const texts = await Promise.all(directories.map((directory) => tree.read(join(directory, "cgroup.procs"))));
  for (const text of texts) {
    for (const line of (text ?? "").split("\n")) {
      // Zero is a process that is invisible from here, and `kill` would take zero as our own process group.
      if (Number(line) > 0) pids.add(Number(line));
    }
  }
  return [...pids].sort((a, b) => a - b);
}

interface KillTarget {
  /** On v2 the directory whose `cgroup.kill` kills all its processes in one write; otherwise undefined. */
  readonly top: string | undefined;
  readonly groups: () => Promise<readonly string[]>;
}

/**
 * Kills up to five times and checks after each attempt: a process may fork while it is killed, or die late inside the
 * kernel.
 */
async function killAll(
  tree: CgroupTree,
  clock: Clock,
  { top, groups }: KillTarget,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const pids = await processesOf(tree, await groups());
    if (pids.length === 0 && !(await isPopulated(tree, top))) return;
    if (attempt > KILL_ATTEMPTS) {
      const who = pids.length > 0 ? `processes ${pids.join(", ")}` : "processes that are not to be seen";
      throw new Error(`${who} outlived ${KILL_ATTEMPTS} attempts to kill them`);
    }
    if (!(await killedAtOnce(tree, top))) for (const pid of pids) tree.kill(pid);
    await sleep(clock, RETRY_MS_FIRST * 3 ** (attempt - 1), signal);
  }
}

/** Asks the kernel, which also counts processes that are invisible from here. */
async function isPopulated(tree: CgroupTree, top: string | undefined): Promise<boolean> {
  if (top === undefined) return false;
  return (await tree.read(join(top, "cgroup.events")))?.split("\n").includes("populated 1") === true;
}

/**
 * Kills all processes in the cgroup and below; none can escape by forking. False on kernels before 5.14, which lack
 * `cgroup.kill`.
 */
async function killedAtOnce(tree: CgroupTree, top: string | undefined): Promise<boolean> {
  if (top === undefined) return false;
  return tree.write(join(top, "cgroup.kill"), "1").then(
    () => true,
    () => false,
  );
}

async function removedAtOnce(tree: CgroupTree, directories: readonly string[]): Promise<boolean> {
  const outcomes = await Promise.all(directories.map((directory) => tree.remove(directory)));
  return outcomes.every((outcome) => outcome === "removed");
}

/** Removes the cgroup in one hierarchy, deepest directory first: a cgroup with children cannot be removed. */
async function removeAll(
  tree: CgroupTree,
  clock: Clock,
  directories: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const directory of directories.toReversed()) await remove(tree, clock, directory, signal);
}

/** Retries, because the kernel releases a cgroup shortly after its last process. */
async function remove(tree: CgroupTree, clock: Clock, directory: string, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; attempt <= REMOVE_ATTEMPTS; attempt += 1) {
    if ((await tree.remove(directory)) === "removed") return;
    await sleep(clock, doublingMs(REMOVE_RETRY, attempt), signal);
  }
  throw new Error(`${directory} is still in use`);
}

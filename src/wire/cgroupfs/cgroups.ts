/**
 * The `Cgroups` port on the kernel's files, cgroupfs driver, either version.
 *
 * Applying reads first and writes only what differs, so that looking each minute costs nothing. What cannot be written does not
 * hold back the rest: a limit of memory below what is in use is refused, and the group still gets its part of the CPU.
 */

import { join } from "node:path";
import { assert } from "../../base/assert.ts";
import { errorText } from "../../base/error-text.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { cgroupPath } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
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

export interface CgroupfsOptions {
  readonly hierarchies: Hierarchies;
  /** The group all names start from; empty is the root of all. */
  readonly root: CgroupName;
  readonly tree: CgroupTree;
  readonly clock: Clock;
}

export function createCgroups({ hierarchies, root, tree, clock }: CgroupfsOptions): Cgroups {
  const version = hierarchies.version === 1 ? cgroupV1(hierarchies.mounts, tree) : cgroupV2(hierarchies.path, tree);
  const pathOf = (name: CgroupName) => cgroupPath([...root, ...name], "cgroupfs");
  const below = (name: CgroupName) => groupsBelow(tree, version, pathOf(name));
  return {
    version: version.version,
    pathOf,
    async countsSwap(name) {
      const folder = await version.folderOf("memory", pathOf(name));
      const file = version.version === 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
      return folder !== undefined && (await tree.read(join(folder, file))) !== undefined;
    },
    exists: (name) => version.isWhole(pathOf(name)),
    async apply(name, values) {
      const path = pathOf(name);
      try {
        if (!(await version.isWhole(path))) await version.make(path);
        await applyValues(tree, version, path, values);
      } catch (error) {
        throw new Error(`cgroup ${path}: ${errorText(error)}`, { cause: error });
      }
    },
    async children(name) {
      const names = new Set<string>();
      for (const folder of version.roots) {
        for (const child of await tree.children(join(folder, pathOf(name)))) names.add(child);
      }
      return [...names].sort();
    },
    memory: (name) => readMemory(tree, version, pathOf(name)),
    processes: async (name) => processesOf(tree, (await below(name)).flat()),
    async destroy(name, signal) {
      assert(name.length > 0, "the group everything is in is not ours to remove");
      try {
        // Mostly nothing is left in it.
        const folders = version.roots.map((root) => join(root, pathOf(name)));
        const left = await Promise.all(folders.map((folder) => tree.remove(folder)));
        if (left.every((outcome) => outcome === "removed")) return;
        await killAll(tree, clock, async () => (await below(name)).flat(), signal);
        await Promise.all((await below(name)).map((folders) => removeAll(tree, clock, folders, signal)));
      } catch (error) {
        if (signal.aborted) throw error;
        throw new Error(`cgroup ${pathOf(name)}: ${errorText(error)}`, { cause: error });
      }
    },
  };
}

async function applyValues(
  tree: CgroupTree,
  version: CgroupVersion,
  path: string,
  values: CgroupValues,
): Promise<void> {
  const refused: Setting[] = [];
  for (const setting of version.settings(values)) {
    await bringTo(tree, version, path, setting).catch(() => refused.push(setting));
  }
  // One value may be refused until another is in place, as a short period is while the quota is still large.
  const failures: unknown[] = [];
  for (const setting of refused) {
    await bringTo(tree, version, path, setting).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(errorText).join("; "));
}

async function bringTo(tree: CgroupTree, version: CgroupVersion, path: string, setting: Setting): Promise<void> {
  const folder = await version.folderOf(setting.controller, path);
  if (folder === undefined) {
    // A machine may well have no huge pages to limit; it cannot do without the others.
    if (setting.controller === "hugetlb") return;
    throw new Error(`no controller for ${setting.file}`);
  }
  const file = join(folder, setting.file);
  const shown = (await tree.read(file))?.trim();
  if (shown === undefined && setting.optional === true) return;
  if (shown === setting.text || setting.alsoShownAs?.includes(shown ?? "") === true) return;
  try {
    await tree.write(file, setting.text);
  } catch (error) {
    throw new Error(`cannot write ${setting.text} to ${setting.file}: ${errorText(error)}`, { cause: error });
  }
}

/** The group's folder and all below it, parents first: a list for each hierarchy that has it. */
async function groupsBelow(
  tree: CgroupTree,
  version: CgroupVersion,
  path: string,
): Promise<readonly (readonly string[])[]> {
  const found = await Promise.all(version.roots.map((root) => groupAndBelow(tree, join(root, path))));
  return found.filter((folders) => folders.length > 0);
}

async function groupAndBelow(tree: CgroupTree, folder: string): Promise<readonly string[]> {
  if (!(await tree.isGroup(folder))) return [];
  const found = [folder];
  const visit = async (parent: string) => {
    for (const child of await tree.children(parent)) {
      found.push(join(parent, child));
      await visit(join(parent, child));
    }
  };
  await visit(folder);
  return found;
}

async function processesOf(tree: CgroupTree, folders: readonly string[]): Promise<readonly number[]> {
  const pids = new Set<number>();
  const texts = await Promise.all(folders.map((folder) => tree.read(join(folder, "cgroup.procs"))));
  for (const text of texts) {
    for (const line of (text ?? "").split("\n")) {
      // Zero stands for a process that this one cannot see, and would mean ourselves to `kill`.
      if (Number(line) > 0) pids.add(Number(line));
    }
  }
  return [...pids].sort((a, b) => a - b);
}

/** A process may fork while it is being killed, and one in the kernel dies late: so look again, five times in all. */
async function killAll(
  tree: CgroupTree,
  clock: Clock,
  groups: () => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; attempt <= KILL_ATTEMPTS; attempt += 1) {
    const pids = await processesOf(tree, await groups());
    if (pids.length === 0) return;
    for (const pid of pids) tree.kill(pid);
    await sleep(clock, RETRY_MS_FIRST * 3 ** (attempt - 1), signal);
  }
  const left = await processesOf(tree, await groups());
  if (left.length > 0) throw new Error(`processes ${left.join(", ")} outlived ${KILL_ATTEMPTS} attempts to kill them`);
}

/** Of one hierarchy, deepest first: a group that has others in it stays. */
async function removeAll(
  tree: CgroupTree,
  clock: Clock,
  folders: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const folder of folders.toReversed()) await remove(tree, clock, folder, signal);
}

/** The kernel lets go of a group a moment after its last process. */
async function remove(tree: CgroupTree, clock: Clock, folder: string, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; attempt <= REMOVE_ATTEMPTS; attempt += 1) {
    if ((await tree.remove(folder)) === "removed") return;
    await sleep(clock, Math.min(RETRY_MS_FIRST * 2 ** (attempt - 1), 500), signal);
  }
  throw new Error(`${folder} is still in use`);
}

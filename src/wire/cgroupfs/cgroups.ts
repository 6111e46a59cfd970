/**
 * The `Cgroups` port on the kernel's files, in either version and with either driver.
 *
 * Applying reads first and writes only what differs, so that looking each minute costs nothing. What cannot be written does not
 * hold back the rest: a limit of memory below what is in use is refused, and the group still gets its part of the CPU.
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
const REMOVE_RETRY = { firstMs: RETRY_MS_FIRST, maxMs: 500 };

export interface CgroupfsOptions {
  readonly hierarchies: Hierarchies;
  /** The group all names start from; empty is the root of all. */
  readonly root: CgroupName;
  readonly driver: GroupDriver;
  readonly tree: CgroupTree;
  readonly clock: Clock;
}

export function createCgroups({ hierarchies, root, driver, tree, clock }: CgroupfsOptions): Cgroups {
  const version = hierarchies.version === 1 ? cgroupV1(hierarchies.mounts, tree) : cgroupV2(hierarchies.path, tree);
  const wholeName = (name: CgroupName) => [...root, ...name];
  const pathOf = (name: CgroupName) => cgroupPath(wholeName(name), driver.name);
  const flaw = (name: CgroupName) => version.flaw(pathOf(name), quotedName(wholeName(name)));
  const below = (name: CgroupName) => groupsBelow(tree, version, pathOf(name));
  return {
    version: version.version,
    driver: driver.name,
    pathOf,
    async countsSwap(name) {
      const folder = await version.folderOf("memory", pathOf(name));
      const file = version.version === 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
      return folder !== undefined && (await tree.read(join(folder, file))) !== undefined;
    },
    exists: async (name) => (await flaw(name)) === undefined,
    flaw,
    async apply(name, values) {
      const path = pathOf(name);
      try {
        if ((await flaw(name)) !== undefined) {
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
      for (const folder of version.roots) {
        for (const child of await tree.children(join(folder, pathOf(name)))) {
          const part = childName(wholeName(name), child, driver.name);
          if (part !== undefined) names.add(part);
        }
      }
      return [...names].sort();
    },
    memory: (name) => readMemory(tree, version, pathOf(name)),
    processes: async (name) => processesOf(tree, (await below(name)).flat()),
    async destroy(name, signal) {
      assert(name.length > 0, "the group everything is in is not ours to remove");
      try {
        const tops = version.roots.map((root) => join(root, pathOf(name)));
        // Mostly nothing is left in it, and where nobody but the kernel keeps groups that is all.
        if (driver.name === "cgroupfs" && (await removedAtOnce(tree, tops))) return;
        const top = version.version === 2 ? tops[0] : undefined;
        await killAll(tree, clock, { top, groups: async () => (await below(name)).flat() }, signal);
        // Its folders stay until then: by them a group is found again whose end was cut short.
        await driver.end(wholeName(name), signal);
        await Promise.all((await below(name)).map((folders) => removeAll(tree, clock, folders, signal)));
      } catch (error) {
        if (signal.aborted) throw error;
        throw new Error(`cgroup ${pathOf(name)}: ${errorText(error)}`, { cause: error });
      }
    },
  };
}

interface WrongFile {
  readonly setting: Setting;
  /** Where it is; undefined: there is no such controller. */
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
    const folder = await version.folderOf(setting.controller, path);
    // A machine may well have no huge pages to limit; it cannot do without the others.
    if (folder === undefined && setting.controller === "hugetlb") continue;
    const file = folder === undefined ? undefined : join(folder, setting.file);
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
  // One value may be refused until another is in place, as a short period is while the quota is still large.
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

interface Doomed {
  /** Where the kernel can kill all of it with one word: on v2. */
  readonly top: string | undefined;
  readonly groups: () => Promise<readonly string[]>;
}

/** A process may fork while it is being killed, and one in the kernel dies late: so look again, five times in all. */
async function killAll(tree: CgroupTree, clock: Clock, { top, groups }: Doomed, signal: AbortSignal): Promise<void> {
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

/** By the kernel's word, which also counts processes that are not to be seen from here. */
async function isPopulated(tree: CgroupTree, top: string | undefined): Promise<boolean> {
  if (top === undefined) return false;
  return (await tree.read(join(top, "cgroup.events")))?.split("\n").includes("populated 1") === true;
}

/** With all below it, and nothing can fork away meanwhile. Kernels before 5.14 do not know it. */
async function killedAtOnce(tree: CgroupTree, top: string | undefined): Promise<boolean> {
  if (top === undefined) return false;
  return tree.write(join(top, "cgroup.kill"), "1").then(
    () => true,
    () => false,
  );
}

async function removedAtOnce(tree: CgroupTree, folders: readonly string[]): Promise<boolean> {
  const outcomes = await Promise.all(folders.map((folder) => tree.remove(folder)));
  return outcomes.every((outcome) => outcome === "removed");
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
    await sleep(clock, doublingMs(REMOVE_RETRY, attempt), signal);
  }
  throw new Error(`${folder} is still in use`);
}

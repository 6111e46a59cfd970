/**
 * Slots distinguish the clusters on one machine. A slot determines a cluster's addresses and its interface. A cluster
 * creates its slot file first and removes it last. The file records the state of the machine before the cluster. So a
 * cluster is known, and its leftovers can be found, even when its directory is gone.
 */
import { link, mkdir, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clustersRoot, layoutOf, SLOT_MAX } from "./layout.ts";
import type { MachineState } from "./leftovers.ts";
import { interfaceExists } from "./network.ts";

export interface TakenSlot {
  readonly slot: number;
  readonly name: string;
  readonly before: MachineState;
}

const slotsDirectory = () => join(clustersRoot(), ".slots");
const slotFile = (slot: number) => join(slotsDirectory(), String(slot));

/** Takes the lowest free slot. Its file is created whole and exclusively, so two clusters never share a slot. */
export async function takeSlot(name: string, before: MachineState): Promise<number> {
  await mkdir(slotsDirectory(), { recursive: true });
  const whole = join(clustersRoot(), `.slot-of-${name}`);
  await writeFile(whole, JSON.stringify({ name, before }));
  try {
    for (let slot = 0; slot < SLOT_MAX; slot += 1) {
      // The interface belongs to another program, such as a cluster below another directory. It is not ours to use, nor
      // to remove at the end.
      if (await interfaceExists(layoutOf(name, slot).machineInterface)) continue;
      try {
        await link(whole, slotFile(slot));
        return slot;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  } finally {
    await rm(whole, { force: true });
  }
  throw new Error(`all ${SLOT_MAX} slots for clusters are taken; see \`npm run cluster -- list\``);
}

/** Frees a slot. Freeing the last slot also removes the directories that hold clusters. */
export async function freeSlot(slot: number): Promise<void> {
  await rm(slotFile(slot), { force: true });
  for (const directory of [slotsDirectory(), clustersRoot()]) {
    await rmdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "ENOENT") throw error;
    });
  }
}

export async function takenSlots(): Promise<readonly TakenSlot[]> {
  const entries = await readdir(slotsDirectory()).catch(() => [] as string[]);
  const taken = await Promise.all(entries.map(readSlot));
  return taken.filter((slot) => slot !== undefined).sort((a, b) => a.slot - b.slot);
}

/**
 * Undefined when the slot was freed in between, or when this module did not write the file: such a slot stays taken and
 * is not ours to free.
 */
async function readSlot(entry: string): Promise<TakenSlot | undefined> {
  try {
    const text = await readFile(join(slotsDirectory(), entry), "utf8");
    return { slot: Number(entry), ...(JSON.parse(text) as Omit<TakenSlot, "slot">) };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

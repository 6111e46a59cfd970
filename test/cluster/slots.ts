/**
 * Slots: what tells the clusters on one machine apart. A slot gives a cluster its addresses and its interface. The file that holds
 * one is the first thing a cluster makes and the last that goes, and it keeps how the machine was before; so a cluster is known,
 * and can be held to what it found, even when its folder is gone.
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

const slotsFolder = () => join(clustersRoot(), ".slots");
const slotFile = (slot: number) => join(slotsFolder(), String(slot));

/** Takes the lowest free slot. Its file appears whole and exclusively, so two clusters never share one. */
export async function takeSlot(name: string, before: MachineState): Promise<number> {
  await mkdir(slotsFolder(), { recursive: true });
  const whole = join(clustersRoot(), `.slot-of-${name}`);
  await writeFile(whole, JSON.stringify({ name, before }));
  try {
    for (let slot = 0; slot < SLOT_MAX; slot += 1) {
      // Somebody else's, such as a cluster's below another folder: not ours to use, nor to remove at the end.
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

/** Frees a slot; the last one takes the folders that hold clusters with it. */
export async function freeSlot(slot: number): Promise<void> {
  await rm(slotFile(slot), { force: true });
  for (const folder of [slotsFolder(), clustersRoot()]) {
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "ENOENT") throw error;
    });
  }
}

export async function takenSlots(): Promise<readonly TakenSlot[]> {
  const entries = await readdir(slotsFolder()).catch(() => [] as string[]);
  const taken = await Promise.all(entries.map(readSlot));
  return taken.filter((slot) => slot !== undefined).sort((a, b) => a.slot - b.slot);
}

/** Undefined when it was freed in between, and for a file that is not from here: its slot stays taken and is not ours to free. */
async function readSlot(entry: string): Promise<TakenSlot | undefined> {
  try {
    const text = await readFile(join(slotsFolder(), entry), "utf8");
    return { slot: Number(entry), ...(JSON.parse(text) as Omit<TakenSlot, "slot">) };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

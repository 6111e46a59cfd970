/** Ends clusters: by what their record, slot and cgroup say, whoever made them, and fails with the list of what is left. */
import { rm } from "node:fs/promises";
import { killAllBelow, removeCgroup } from "./cgroups.ts";
import { restoreKernelSettings } from "./kernel-settings.ts";
import { layoutOf } from "./layout.ts";
import { endLastCommands, leftoversOf, mountsBelow } from "./leftovers.ts";
import { tryLock, withLock } from "./lock.ts";
import { leaveMachine } from "./network.ts";
import { isAlive } from "./processes.ts";
import { allRecords, readRecord } from "./record.ts";
import { freeSlot, takenSlots } from "./slots.ts";

/** Held for the moments in which clusters look at each other: the first notes the machine's settings, the last puts them back. */
export const MACHINE_LOCK = "machine";

const clusterLock = (name: string) => `cluster ${layoutOf(name, 0).folder}`;

/** Runs `work` unless a cluster of this name is being started or ended at this moment. */
export async function exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
  const unlock = await tryLock(clusterLock(name));
  if (unlock === undefined) throw new Error(`cluster ${name} is being started or ended by another process`);
  try {
    return await work();
  } finally {
    await unlock();
  }
}

export const down = (name: string): Promise<void> => exclusively(name, () => takeDown(name));

/** For one who looked at what was left and found that it is not the cluster's: gives up the slot, and what was before with it. */
export const forget = (name: string): Promise<void> =>
  exclusively(name, async () => {
    await takeDown(name).catch(async (trouble: unknown) => {
      if (!(trouble instanceof LeftBehindError)) throw trouble;
      for (const taken of await takenSlots()) if (taken.name === name) await freeSlot(taken.slot);
    });
  });

class LeftBehindError extends Error {}

/** For one who holds the cluster already. */
export async function takeDown(name: string): Promise<void> {
  const held = (await takenSlots()).filter((taken) => taken.name === name);
  const slot = (await readRecord(name))?.slot ?? held[0]?.slot;
  if (slot === undefined) throw new Error(`there is no cluster ${name}`);
  const layout = layoutOf(name, slot);
  await killAllBelow(layout.cgroupParent);
  await leaveMachine(layout);
  await removeCgroup(layout.cgroupParent);
  await endLastCommands(layout.folder);
  // A cluster mounts nothing here; if something is mounted all the same, removing would reach into it.
  if ((await mountsBelow(layout.folder)).length === 0) {
    // Again and again: a killed maker's last command may still be writing.
    await rm(layout.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  const before = held.find((taken) => taken.slot === slot)?.before;
  const left = before === undefined ? [] : await leftoversOf(layout, before);
  await withLock(MACHINE_LOCK, async () => {
    const kernel = (await isLast(name)) ? await restoreKernelSettings() : [];
    if (left.length + kernel.length > 0) {
      throw new LeftBehindError(`cluster ${name} left behind:\n  ${[...left, ...kernel].join("\n  ")}`);
    }
    // Last: a slot that something still uses must not be given to another, and the next `down` must know what was before.
    for (const each of new Set([slot, ...held.map((taken) => taken.slot)])) await freeSlot(each);
  });
}

async function isLast(name: string): Promise<boolean> {
  const known = [...(await takenSlots()), ...(await allRecords())];
  return known.every((other) => other.name === name);
}

/**
 * Ends what is in the way of `name`, which the caller holds: what is left of that cluster, and clusters that nobody will end. If one of
 * the others cannot be ended that is told, and stops nobody: it keeps its slot and is tried again.
 */
export async function endAbandoned(name: string, tell: (trouble: string) => void): Promise<void> {
  const names = new Set([...(await allRecords()), ...(await takenSlots())].map((known) => known.name));
  for (const other of names) {
    if (other === name) {
      if ((await stateOf(name)) !== "abandoned") throw new Error(`cluster ${name} is up already`);
      await takeDown(name);
      continue;
    }
    // Who holds it is starting or ending it.
    const unlock = await tryLock(clusterLock(other));
    if (unlock === undefined) continue;
    try {
      if ((await stateOf(other)) === "abandoned") await takeDown(other).catch((trouble) => tell(String(trouble)));
    } finally {
      await unlock();
    }
  }
}

/**
 * To be asked while holding the cluster. Abandoned is one whose maker was killed before it was complete or, of a test's, at any time;
 * and one whose folder somebody removed: nobody can use it any more.
 */
async function stateOf(name: string): Promise<"gone" | "inUse" | "abandoned"> {
  const record = await readRecord(name);
  if (record === undefined) {
    return (await takenSlots()).some((taken) => taken.name === name) ? "abandoned" : "gone";
  }
  const makerLives = await isAlive({ pid: record.makerPid, startTicks: record.makerStartTicks });
  return makerLives || (record.complete && !record.disposable) ? "inUse" : "abandoned";
}

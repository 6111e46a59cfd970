/** Ends clusters, whoever made them, by their record, slot and cgroup. Fails with a list of everything that is left. */
import { rm } from "node:fs/promises";
import { killAllBelow, removeCgroup } from "./cgroups.ts";
import { layoutOf } from "./layout.ts";
import { endLastCommands, leftoversOf, mountsBelow } from "./leftovers.ts";
import { tryLock, withLock } from "./lock.ts";
import { leaveMachine } from "./network.ts";
import { isAlive } from "./processes.ts";
import { allRecords, readRecord } from "./record.ts";
import { freeSlot, takenSlots } from "./slots.ts";
import { restoreSysctls } from "./sysctls.ts";

/**
 * Held while clusters check for each other: the first cluster records the machine's settings, and the last one restores
 * them.
 */
export const MACHINE_LOCK = "machine";

const clusterLock = (name: string) => `cluster ${layoutOf(name, 0).directory}`;

/** Runs `work`, unless another process is starting or ending a cluster of this name. */
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

/**
 * For a caller that has checked the leftovers and found that they are not the cluster's. Frees the slot and discards
 * the recorded machine state with it.
 */
export const forget = (name: string): Promise<void> =>
  exclusively(name, async () => {
    await takeDown(name).catch(async (trouble: unknown) => {
      if (!(trouble instanceof LeftBehindError)) throw trouble;
      for (const taken of await takenSlots()) if (taken.name === name) await freeSlot(taken.slot);
    });
  });

class LeftBehindError extends Error {}

/** For callers that already hold the cluster's lock. */
export async function takeDown(name: string): Promise<void> {
  const held = (await takenSlots()).filter((taken) => taken.name === name);
  const slot = (await readRecord(name))?.slot ?? held[0]?.slot;
  if (slot === undefined) throw new Error(`there is no cluster ${name}`);
  const layout = layoutOf(name, slot);
  await killAllBelow(layout.cgroupParent);
  await leaveMachine(layout);
  await removeCgroup(layout.cgroupParent);
  await endLastCommands(layout.directory);
  // A cluster mounts nothing here. If something is mounted all the same, removing the directory would delete the
  // mount's content.
  if ((await mountsBelow(layout.directory)).length === 0) {
    // Retries, because the last command of a killed maker may still be writing.
    await rm(layout.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
  const before = held.find((taken) => taken.slot === slot)?.before;
  const left = before === undefined ? [] : await leftoversOf(layout, before);
  await withLock(MACHINE_LOCK, async () => {
    const kernel = (await isLast(name)) ? await restoreSysctls() : [];
    if (left.length + kernel.length > 0) {
      throw new LeftBehindError(`cluster ${name} left behind:\n  ${[...left, ...kernel].join("\n  ")}`);
    }
    // Last: a slot that is still in use must not go to another cluster, and the next `down` needs the recorded machine
    // state.
    for (const each of new Set([slot, ...held.map((taken) => taken.slot)])) await freeSlot(each);
  });
}

async function isLast(name: string): Promise<boolean> {
  const known = [...(await takenSlots()), ...(await allRecords())];
  return known.every((other) => other.name === name);
}

/**
 * Ends everything in the way of `name`, whose lock the caller holds: the remains of that cluster, and abandoned
 * clusters. If another cluster cannot be ended, this calls `tell` and goes on. That cluster keeps its slot, and a later
 * call tries again.
 */
export async function endAbandoned(name: string, tell: (trouble: string) => void): Promise<void> {
  const names = new Set([...(await allRecords()), ...(await takenSlots())].map((known) => known.name));
  for (const other of names) {
    if (other === name) {
      if ((await stateOf(name)) !== "abandoned") throw new Error(`cluster ${name} is up already`);
      await takeDown(name);
      continue;
    }
    // The holder of the lock is starting or ending the cluster.
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
 * The caller must hold the cluster's lock. A cluster is abandoned when its maker was killed before the cluster was
 * complete or, for a test's cluster, at any time. A cluster whose directory was removed is abandoned too: nobody can
 * use it.
 */
async function stateOf(name: string): Promise<"gone" | "inUse" | "abandoned"> {
  const record = await readRecord(name);
  if (record === undefined) {
    return (await takenSlots()).some((taken) => taken.name === name) ? "abandoned" : "gone";
  }
  const makerLives = await isAlive({ pid: record.makerPid, startTicks: record.makerStartTicks });
  return makerLives || (record.complete && !record.disposable) ? "inUse" : "abandoned";
}

/**
 * The guests on this machine, and their removal. A guest has its own directory and its own cgroup, both named after it:
 * its processes are found by the cgroup, everything else is in the directory. A guest of a test ends with the test's
 * process, however that process ends; the next process that starts a guest then removes the directory.
 */
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exists } from "../cluster/cache.ts";
import { cgroupsLeft, killAllBelow, processesBelow, removeCgroup } from "../cluster/cgroups.ts";
import { withLock } from "../cluster/lock.ts";
import { isAlive, startTicks } from "../cluster/processes.ts";

interface ProcessId {
  readonly pid: number;
  readonly startTicks: string;
}

export interface GuestRecord {
  readonly name: string;
  readonly maker: ProcessId;
  /** The guest is useless without its creator. */
  readonly disposable: boolean;
  /** Undefined while the guest is being started. */
  readonly qemu?: ProcessId;
  readonly mayReboot: boolean;
}

export type GuestState = "up" | "starting" | "abandoned";

/** Short, because socket paths are limited to 108 bytes. */
const guestsRoot = () => process.env["DECKHAND_GUESTS"] ?? join(tmpdir(), "deckhand-guests");
export const guestDirectory = (name: string) => join(guestsRoot(), name);
/** Distinct from the cgroups of clusters, whose names do not contain this underscore. */
export const guestCgroup = (name: string) => `/deckhand-guest_${name}`;
const recordFile = (name: string) => join(guestDirectory(name), "record.json");
const SOCKET_PATH_BYTES = 108;
const lock = <T>(work: () => Promise<T>) => withLock(`guests ${guestsRoot()}`, work);

/** Creates the guest's directory, after ending abandoned guests. */
export async function enterGuest(
  name: string,
  { disposable, mayReboot }: Pick<GuestRecord, "disposable" | "mayReboot">,
): Promise<GuestRecord> {
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(name)) throw new Error(`a guest's name is 1 to 20 of a-z, 0-9 and -: ${name}`);
  const longest = join(guestDirectory(name), "commands.sock");
  if (Buffer.byteLength(longest) >= SOCKET_PATH_BYTES) throw new Error(`too long for the path of a socket: ${longest}`);
  return lock(async () => {
    await endAbandonedNow();
    const record = { name, maker: await ourselves(), disposable, mayReboot };
    if (await exists(guestDirectory(name))) throw new Error(`guest ${name} is up already`);
    await mkdir(guestDirectory(name), { recursive: true });
    await writeRecord(record);
    return record;
  });
}

async function ourselves(): Promise<ProcessId> {
  return { pid: process.pid, startTicks: (await startTicks(process.pid)) ?? "" };
}

export async function writeRecord(record: GuestRecord): Promise<void> {
  const scratch = `${recordFile(record.name)}.new`;
  await writeFile(scratch, JSON.stringify(record));
  await rename(scratch, recordFile(record.name));
}

/** Undefined when there is no such guest. */
export async function readRecord(name: string): Promise<GuestRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordFile(name), "utf8")) as GuestRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export async function listGuests(): Promise<readonly { readonly name: string; readonly state: GuestState }[]> {
  return lock(async () => {
    const names = (await guestNames()).toSorted();
    return Promise.all(names.map(async (name) => ({ name, state: await stateOf(name) })));
  });
}

const guestNames = () => readdir(guestsRoot()).catch(() => [] as string[]);

async function stateOf(name: string): Promise<GuestState> {
  const record = await readRecord(name);
  if (record === undefined) return "abandoned";
  const { maker, qemu, disposable } = record;
  const isMade = await isAlive(maker);
  if (qemu === undefined) return isMade ? "starting" : "abandoned";
  return isMade || (!disposable && (await isAlive(qemu))) ? "up" : "abandoned";
}

/** Ends a guest, whichever process created it, and fails if anything of it is left. */
export const endGuest = (name: string): Promise<void> => lock(() => endNow(name));

/** Ends the guests whose creators are gone. */
export const endAbandoned = (): Promise<readonly string[]> => lock(endAbandonedNow);

async function endAbandonedNow(): Promise<readonly string[]> {
  const ended: string[] = [];
  for (const name of await guestNames()) {
    if ((await stateOf(name)) !== "abandoned") continue;
    await endNow(name);
    ended.push(name);
  }
  return ended;
}

async function endNow(name: string): Promise<void> {
  await killAllBelow(guestCgroup(name));
  await removeCgroup(guestCgroup(name));
  await rm(guestDirectory(name), { recursive: true, force: true });
  await rmdir(guestsRoot()).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOTEMPTY" && error.code !== "ENOENT") throw error;
  });
  const left = await leftOf(name);
  if (left.length > 0) throw new Error(`guest ${name} left behind:\n  ${left.join("\n  ")}`);
}

/** One line for each process, cgroup and directory that is left of a guest. */
export async function leftOf(name: string): Promise<readonly string[]> {
  return [
    ...(await processesBelow(guestCgroup(name))).map((pid) => `process ${pid}`),
    ...(await cgroupsLeft(guestCgroup(name))).map((path) => `cgroup ${path}`),
    ...((await exists(guestDirectory(name))) ? [`directory ${guestDirectory(name)}`] : []),
  ];
}

/**
 * What a cluster has made, on disk, so that another process can take it down: written before each thing is made. A cluster whose
 * maker was killed is found by its record and ended like any other.
 */
import { mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clustersRoot, SLOT_MAX } from "./layout.ts";

/** How to see that a program is ready, as data, so that another process can restart it and wait. */
export type ReadyCheck =
  /** Listens on this TCP port in its own network namespace. */
  | { readonly kind: "listens"; readonly port: number }
  /** Answers at this CRI endpoint that runtime and network are ready. */
  | { readonly kind: "cri"; readonly endpoint: string }
  | { readonly kind: "apiServer" }
  /** Has become this program, after a shell script that prepared its namespaces. */
  | { readonly kind: "became"; readonly program: string };

/** A long-lived program of the cluster. `startTicks` tells it from another process that got the same pid later. */
export interface ComponentRecord {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Of the process whose namespaces it shares; undefined for the anchors themselves. */
  readonly anchor?: string;
  readonly cgroup: string;
  readonly logFile: string;
  readonly ready: ReadyCheck;
  readonly pid: number;
  readonly startTicks: string;
}

export interface ClusterRecord {
  readonly name: string;
  readonly slot: number;
  readonly makerPid: number;
  readonly makerStartTicks: string;
  /** False until `up` has ended well. A cluster of the command line outlives its maker only when this is true. */
  readonly complete: boolean;
  /** Made by a test: worth nothing once its maker is gone. */
  readonly disposable: boolean;
  readonly controlPlane: "none" | "api" | "full";
  readonly agents: readonly string[];
  readonly components: readonly ComponentRecord[];
}

const recordFile = (name: string) => join(clustersRoot(), name, "record.json");

export async function readRecord(name: string): Promise<ClusterRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordFile(name), "utf8")) as ClusterRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export async function writeRecord(record: ClusterRecord): Promise<void> {
  await mkdir(join(clustersRoot(), record.name), { recursive: true, mode: 0o755 });
  const scratch = `${recordFile(record.name)}.new`;
  await writeFile(scratch, JSON.stringify(record, undefined, 2));
  await rename(scratch, recordFile(record.name));
}

export async function allRecords(): Promise<readonly ClusterRecord[]> {
  const names = await readdir(clustersRoot()).catch(() => [] as string[]);
  const records = await Promise.all(names.map((name) => readRecord(name).catch(() => undefined)));
  return records.filter((record) => record !== undefined);
}

/** Takes the lowest free slot for `name`. The file that holds a slot is made exclusively, so two clusters never share one. */
export async function takeSlot(name: string): Promise<number> {
  for (let slot = 0; slot < SLOT_MAX; slot += 1) {
    // Within the loop: the last cluster to go takes the folder with it.
    await mkdir(join(clustersRoot(), ".slots"), { recursive: true });
    try {
      const file = await open(slotFile(slot), "wx");
      await file.writeFile(name);
      await file.close();
      return slot;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  throw new Error(`all ${SLOT_MAX} slots for clusters are taken; see \`npm run cluster -- list\``);
}

/** Frees a slot; the last one takes the folders that hold clusters with it. */
export async function freeSlot(slot: number): Promise<void> {
  await rm(slotFile(slot), { force: true });
  for (const folder of [join(clustersRoot(), ".slots"), clustersRoot()]) {
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "ENOENT") throw error;
    });
  }
}

const slotFile = (slot: number) => join(clustersRoot(), ".slots", String(slot));

/** The slots that `name` holds: also one whose maker was killed before it wrote a record. */
export async function slotsOf(name: string): Promise<readonly number[]> {
  const slots: number[] = [];
  for (const entry of await readdir(join(clustersRoot(), ".slots")).catch(() => [] as string[])) {
    const holder = await readFile(join(clustersRoot(), ".slots", entry), "utf8").catch(() => "");
    if (holder === name) slots.push(Number(entry));
  }
  return slots;
}

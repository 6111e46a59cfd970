/**
 * The record of a cluster on disk, so that another process can use the cluster and take it down. Anything not recorded
 * when the cluster's maker is killed is found by the cluster's cgroup and slot (`slots.ts`).
 */
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clustersRoot } from "./layout.ts";

/** How to check that a program is ready, as data, so that another process can restart the program and wait for it. */
export type ReadyCheck =
  /** The program listens on this TCP port in its own network namespace. */
  | { readonly kind: "listens"; readonly port: number }
  /** The runtime at this CRI endpoint reports RuntimeReady and NetworkReady. */
  | { readonly kind: "cri"; readonly endpoint: string }
  | { readonly kind: "apiServer" }
  /** The process has become this program, after a shell script that prepared its namespaces. */
  | { readonly kind: "became"; readonly program: string };

/** A long-lived program of the cluster. `startTicks` distinguishes it from a later process with the same PID. */
export interface ComponentRecord {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Name of the process whose namespaces it shares; undefined for the anchors themselves. */
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
  /**
   * False until `up` has succeeded. A cluster started from the command line outlives its maker only when this is true.
   */
  readonly complete: boolean;
  /** Made by a test; useless once its maker has exited. */
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

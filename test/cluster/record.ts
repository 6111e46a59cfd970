/**
 * What a cluster is made of, on disk, so that another process can use it and take it down. Whatever is not noted yet when its maker
 * is killed is found by the cluster's cgroup and by its slot (`slots.ts`).
 */
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clustersRoot } from "./layout.ts";

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

/**
 * Stats of the machine, its cgroups and the networks of its sandboxes, read only on request. A cgroup that disappears
 * is omitted, even if it disappears during the read. Rejects with the signal's reason, or when the machine's own
 * cgroups cannot be read.
 */
import type { StatsReading } from "../domain/stats/stats-reading.ts";

/**
 * How much is read of each cgroup. "usage": CPU and memory; "summary": also processes, pressure and networks;
 * "everything": also open files, devices, and the machine's file systems.
 */
export type StatsDetail = "usage" | "summary" | "everything";

export interface StatsQuestion {
  readonly detail: StatsDetail;
  /** Each cgroup is read with its descendants. The root cgroup is always included, without its descendants. */
  readonly groups: readonly string[];
  /** IDs of the sandboxes whose network is read; a sandbox has the network of its pod. */
  readonly sandboxes: ReadonlySet<string>;
  /** Reads the stats of the file systems that contain these paths. Local paths only: no read may wait for a server. */
  readonly filesystems: readonly string[];
  /** Files, and directories with the files directly in them, that count as disk usage. Local paths only. */
  readonly files: readonly string[];
}

export interface Stats {
  read(question: StatsQuestion, signal: AbortSignal): Promise<StatsReading>;
  /** The cgroup of this process; undefined if its CPU and memory controllers are in different cgroups. */
  ownGroup(): Promise<string | undefined>;
}

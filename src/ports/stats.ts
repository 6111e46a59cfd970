/**
 * Figures of the machine, of its control groups and of the networks of its sandboxes, read when asked for and never else. Groups come and go: one
 * that is gone is left out, whenever it goes. Rejects with the signal's reason, or when the machine's own groups cannot be read.
 */
import type { StatsReading } from "../domain/stats/figures.ts";

/**
 * How much is read of each group. "usage": CPU and memory; "summary": also processes, pressure and networks; "everything": also open files,
 * devices, and the machine's file systems.
 */
export type StatsDetail = "usage" | "summary" | "everything";

export interface StatsQuestion {
  readonly detail: StatsDetail;
  /** Each with all below it. The machine's root is always there, by itself. */
  readonly groups: readonly string[];
  /** Ids: whose network is their pod's. */
  readonly sandboxes: ReadonlySet<string>;
  /** How full the file systems are that these paths lie on. Local ones: nothing here may wait for a server. */
  readonly filesystems: readonly string[];
  /** Files, and folders with the files directly in them, that count towards somebody's disk. Local ones too. */
  readonly files: readonly string[];
}

export interface Stats {
  read(question: StatsQuestion, signal: AbortSignal): Promise<StatsReading>;
  /** The group that this process is in. Undefined where its controllers say different things. */
  ownGroup(): Promise<string | undefined>;
}

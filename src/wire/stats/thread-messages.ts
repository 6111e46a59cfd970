/** The messages between the agent and its stats thread. */
import type { CgroupStats, StatsReading } from "../../domain/stats/stats-reading.ts";
import type { StatsQuestion } from "../../ports/stats.ts";

export interface ThreadData {
  readonly root: string;
}

export interface ThreadQuestion {
  readonly number: number;
  readonly question: StatsQuestion;
}

/**
 * Several times some cgroups, then the rest of the reading, or a failure. The thread does not keep what it has sent.
 */
export type ThreadAnswer = { readonly number: number } & (
  | { readonly kind: "groups"; readonly groups: readonly CgroupStats[] }
  | { readonly kind: "rest"; readonly rest: Omit<StatsReading, "groups"> }
  | { readonly kind: "failure"; readonly failure: string }
);

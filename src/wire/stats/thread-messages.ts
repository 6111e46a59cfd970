/** What the agent and its reading thread say to each other. */
import type { GroupFigures, StatsReading } from "../../domain/stats/figures.ts";
import type { StatsQuestion } from "../../ports/stats.ts";

export interface ThreadData {
  readonly root: string;
}

export interface ThreadQuestion {
  readonly number: number;
  readonly question: StatsQuestion;
}

/** Some groups, and again, until the rest of the reading comes or a failure: what was said is gone from the thread. */
export type ThreadAnswer = { readonly number: number } & (
  | { readonly kind: "groups"; readonly groups: readonly GroupFigures[] }
  | { readonly kind: "rest"; readonly rest: Omit<StatsReading, "groups"> }
  | { readonly kind: "failure"; readonly failure: string }
);

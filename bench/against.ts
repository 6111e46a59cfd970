/** Decides whether Deckhand differs from the build of an earlier commit by more than the noise of the run. */

import type { CandidateName, Figure } from "./candidates.ts";
import type { Spread } from "./statistics.ts";

export type Verdict = "same" | "slower" | "faster" | "more" | "less";

export interface Comparison {
  /**
   * Deckhand's median relative to the mean of the earlier build's medians. Undefined only when that mean alone is 0.
   */
  readonly differencePercent: number | undefined;
  /** Difference of the earlier build's two medians, in percent of their mean. */
  readonly noisePercent: number | undefined;
  readonly verdict: Verdict;
}

type Medians = Readonly<Partial<Record<CandidateName, Pick<Spread, "median">>>>;

const SAME_SHARE = 0.05;
/** In floating point, 1.05 − 1 is slightly more than 0.05. */
const ROUNDING = 1 + 1e-9;

/** Returns undefined unless all three have a median. */
export function compare(unit: Figure["unit"], values: Medians): Comparison | undefined {
  const [now, first, second] = [
    medianOf(values, "deckhand"),
    medianOf(values, "before"),
    medianOf(values, "before again"),
  ];
  if (now === undefined || first === undefined || second === undefined) return undefined;
  const before = (first + second) / 2;
  const [difference, noise] = [now - before, Math.abs(first - second)];
  // Compares differences, not percentages: the mean may be 0.
  const limit = Math.max(SAME_SHARE * Math.abs(before), noise) * ROUNDING;
  return {
    differencePercent: percentOf(difference, before),
    noisePercent: percentOf(noise, before),
    verdict: Math.abs(difference) <= limit ? "same" : word(unit, difference > 0),
  };
}

function medianOf(values: Medians, candidate: CandidateName): number | undefined {
  const median = values[candidate]?.median;
  return Number.isFinite(median) ? median : undefined;
}

function percentOf(value: number, base: number): number | undefined {
  if (value === 0) return 0;
  return base === 0 ? undefined : (value / Math.abs(base)) * 100;
}

function word(unit: Figure["unit"], isMore: boolean): Verdict {
  if (unit === "ms" || unit === "s") return isMore ? "slower" : "faster";
  return isMore ? "more" : "less";
}

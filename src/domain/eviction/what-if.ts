/**
 * Answers what eviction would do if other amounts were available, with the functions that decide about real evictions.
 * Grace periods count as passed, and no reclaim of containers and images is assumed to help.
 */
import type { Observation, Observations, Signal } from "../node/pressure.ts";
import { chooseVictims, reclaimSteps, type VictimChoice, type VictimInputs } from "./choose-victims.ts";
import type { ReclaimTarget } from "./reclaim.ts";
import { byUrgency, type EvictionThreshold, isMet } from "./thresholds.ts";

export interface WhatIf extends Omit<VictimInputs, "met"> {
  readonly thresholds: readonly EvictionThreshold[];
  /** The hypothetical amounts. Signals without one keep what was measured. */
  readonly available: ReadonlyMap<Signal, bigint>;
}

export interface WhatIfAnswer extends VictimChoice {
  /** All thresholds that would be met, the most urgent first. */
  readonly met: readonly EvictionThreshold[];
  /** What would be removed before the first pod. */
  readonly reclaims: readonly ReclaimTarget[];
  /** With the hypothetical amounts. */
  readonly observations: Observations;
}

/** Undefined: no threshold would be met. An amount of a signal that was never measured changes nothing. */
export function whatIf({ thresholds, available, ...inputs }: WhatIf): WhatIfAnswer | undefined {
  const observations: Observations = new Map(
    [...inputs.observations].map(([signal, measured]): [Signal, Observation] => [
      signal,
      { ...measured, available: available.get(signal) ?? measured.available },
    ]),
  );
  const met = byUrgency(thresholds.filter((threshold) => isMet(threshold, observations)));
  const choice = chooseVictims({ ...inputs, observations, met });
  if (choice === undefined) return undefined;
  return { ...choice, met, observations, reclaims: reclaimSteps(choice.threshold.signal, inputs.layout) };
}

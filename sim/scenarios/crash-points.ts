/** Plays scenarios with the agent killed at every call it makes, before the call's effect and after it. */
import type { AgentFactory } from "../sim-node.ts";
import { type Outcome, play, type Scenario } from "./scenario.ts";

export interface CrashPoint {
  readonly scenario: string;
  readonly call: number;
  readonly effect: "none" | "done";
}

export interface Failure extends CrashPoint {
  readonly outcome: Outcome;
}

export interface Enumeration {
  readonly points: number;
  readonly failures: readonly Failure[];
}

/** `stride`: kills at every stride-th call, starting with the call `from`; 1 covers all calls. */
export async function enumerateCrashPoints(
  scenario: Scenario,
  {
    stride,
    from = 1,
    agent,
    seed = 1,
  }: { readonly stride: number; readonly from?: number; readonly agent?: AgentFactory; readonly seed?: number },
): Promise<Enumeration> {
  const common = { seed, ...(agent === undefined ? {} : { agent }) };
  const { calls } = await play(scenario, common);
  const failures: Failure[] = [];
  let points = 0;
  for (let call = from; call <= calls; call += stride) {
    for (const effect of ["none", "done"] as const) {
      const outcome = await play(scenario, { ...common, crashAt: { call, effect } });
      points += 1;
      if (outcome.violations.length + outcome.wrong.length > 0) {
        failures.push({ scenario: scenario.name, call, effect, outcome });
      }
    }
  }
  return { points, failures };
}

/** Describes a failure for people: where it broke, what broke, and how to reproduce it. */
export const describeFailure = ({ scenario, call, effect, outcome }: Failure): string =>
  [
    `${scenario}, killed at call ${call} (${effect === "none" ? "before" : "after"} its effect):`,
    ...outcome.violations,
    ...outcome.wrong,
    ...outcome.lastLines.slice(-20),
  ].join("\n  ");

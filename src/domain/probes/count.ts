/** Turns consecutive probe results into a verdict. */
import type { ProbeSpec } from "./probe-spec.ts";
import { isOnHold, type ProbeVerdicts } from "./verdicts.ts";

export type ProbeResultKind = "success" | "failure";

/** Consecutive equal results, up to the last one. */
export interface ResultRun {
  readonly last: ProbeResultKind | undefined;
  readonly length: number;
}

export const NO_RESULTS: ResultRun = { last: undefined, length: 0 };

export interface Counted {
  readonly run: ResultRun;
  readonly verdicts: ProbeVerdicts;
}

/** Counts one more result. A result that is no longer needed changes nothing. */
export function countResult(
  { kind, successThreshold, failureThreshold }: Pick<ProbeSpec, "kind" | "successThreshold" | "failureThreshold">,
  { run, verdicts }: Counted,
  result: ProbeResultKind,
): Counted {
  if (isOnHold(kind, verdicts)) return { run, verdicts };
  const length = run.last === result ? run.length + 1 : 1;
  const threshold = result === "success" ? successThreshold : failureThreshold;
  const counted = { last: result, length };
  if (length < threshold || verdicts[kind] === result) return { run: counted, verdicts };
  return { run: counted, verdicts: { ...verdicts, [kind]: result } };
}

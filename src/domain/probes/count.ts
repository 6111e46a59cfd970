/** How results in a row become a verdict. */
import type { ProbeSpec } from "./probe-spec.ts";
import { isOnHold, type ProbeVerdicts } from "./verdicts.ts";

export type ProbeResultKind = "success" | "failure";

/** The results in a row that were the same, the last among them. */
export interface ResultRun {
  readonly last: ProbeResultKind | undefined;
  readonly length: number;
}

export const NO_RESULTS: ResultRun = { last: undefined, length: 0 };

export interface Counted {
  readonly run: ResultRun;
  readonly verdicts: ProbeVerdicts;
}

/** One result more. One that nobody waits for any more changes nothing. */
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

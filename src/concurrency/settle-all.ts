/**
 * Waits until all promises have settled. Then it rejects if any failed: with the only failure, or with an
 * AggregateError of all different failures. No work is running any more when it settles.
 */
import { errorText } from "../base/error-text.ts";
import { aggregate } from "../base/go-text.ts";

export async function settleAll(work: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(work);
  const rejected = outcomes.filter((outcome) => outcome.status === "rejected");
  const failures = [...new Set(rejected.map(({ reason }): unknown => reason))];
  if (failures.length === 0) return;
  if (failures.length === 1) throw failures[0];
  throw new AggregateError(failures, aggregate(failures.map(errorText)));
}

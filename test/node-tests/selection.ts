/**
 * Decides which tests of a list run here, and whether all of them ran. No test leaves a list silently: one that cannot
 * run has a reason, and one that has neither an outcome nor a reason fails the run.
 */
import type { TestOutcome } from "../conformance/results.ts";
import type { TreeTest } from "./tree.ts";

/** Reasons why tests cannot run on a machine like this one, by test name. */
export type CannotRun = Readonly<Record<string, string>>;

export interface Selection {
  readonly tests: readonly TreeTest[];
  /** The names of the tests that cannot run. */
  readonly excluded: readonly string[];
}

export function select(wanted: readonly TreeTest[], cannotRun: CannotRun): Selection {
  const isExcluded = ({ name }: TreeTest) => Object.hasOwn(cannotRun, name);
  return {
    tests: wanted.filter((test) => !isExcluded(test)),
    excluded: wanted.filter(isExcluded).map(({ name }) => name),
  };
}

/** The selected tests without an outcome. */
export function notRun(tests: readonly TreeTest[], outcomes: readonly TestOutcome[]): readonly string[] {
  const ran = new Set(outcomes.map(({ name }) => name));
  return tests.map(({ name }) => name).filter((name) => !ran.has(name));
}

/**
 * `DECKHAND_CASES`, a regular expression: a comparison suite then runs only the cases whose name matches. Tests of
 * other cases may fail; the proof `mutants`, which uses it, looks only at comparisons.
 */
const pattern = process.env["DECKHAND_CASES"];
const selection = pattern === undefined ? undefined : new RegExp(pattern);

/** Whether some cases may be left out. */
export const leavesCasesOut = selection !== undefined;

export const isSelected = (name: string): boolean => selection?.test(name) ?? true;

export const selected = <T extends { readonly name: string }>(cases: readonly T[]): readonly T[] =>
  cases.filter(({ name }) => isSelected(name));

export const selectedByName = <T>(cases: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(cases).filter(([name]) => isSelected(name)));

const FEW_CASES_MATCH_LIMIT_MS = 6_000;

/**
 * How long a suite waits until an answer equals a recorded one. With few cases the machine is idle, and a mutant's
 * answer never matches.
 */
export const matchLimitMs = (usualMs: number): number =>
  selection === undefined ? usualMs : Math.min(usualMs, FEW_CASES_MATCH_LIMIT_MS);

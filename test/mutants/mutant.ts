/** One small mistake in production code, and the comparison with the recordings that must fail because of it. */
export interface Mutant {
  /** What the mutated code does wrong. */
  readonly name: string;
  /** Below the repository's root. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The test file that compares, without `.test.ts`. */
  readonly suite: string;
  /** A regular expression: the suite runs only the cases with such a name. */
  readonly cases: string;
  /** A regular expression: of the suite's tests only those with such a title run. All where it is left out. */
  readonly tests?: string;
}

/** By the title of the area. */
export interface MutantArea {
  readonly area: string;
  readonly mutants: readonly Mutant[];
}

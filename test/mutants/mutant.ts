/** One small mistake in production code. */
export interface Mutation {
  /** What the mutated code does wrong. */
  readonly name: string;
  /** Relative to the repository's root. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** A mutation, and the comparison with the recordings that must fail because of it. */
export interface Mutant extends Mutation {
  /** The test file that compares, without `.test.ts`. */
  readonly suite: string;
  /** A regular expression: the suite runs only the cases whose name matches. */
  readonly cases: string;
  /** A regular expression: only the tests of the suite whose title matches run. Without it all tests run. */
  readonly tests?: string;
}

/** The mutants of one area, with the title of the area. */
export interface MutantArea {
  readonly area: string;
  readonly mutants: readonly Mutant[];
}

/** A family of metrics as it is collected: what the exposition writes, whoever counted it. */

/** In the order in which they are written. */
export type Labels = readonly (readonly [name: string, value: string])[];

export interface Sample {
  readonly labels: Labels;
  /** Written among the others, by their names, which are in order here and there. */
  readonly more?: Labels;
  readonly value: number;
  /** Left out: the moment of the scrape. */
  readonly atWallMs?: number;
}

export interface HistogramSample {
  readonly labels: Labels;
  /** Cumulative counts by upper bound, ascending; the one without a bound is `count`. */
  readonly buckets: readonly (readonly [upTo: number, count: number])[];
  readonly count: number;
  readonly sum: number;
}

interface FamilyName {
  readonly name: string;
  readonly help: string;
}

export type Family =
  | (FamilyName & { readonly kind: "counter" | "gauge"; readonly samples: readonly Sample[] })
  | (FamilyName & { readonly kind: "histogram"; readonly samples: readonly HistogramSample[] });

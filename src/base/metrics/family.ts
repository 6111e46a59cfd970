/** A collected metric family: the input of the exposition, whatever its source. */

/** In the order in which they are written. */
export type Labels = readonly (readonly [name: string, value: string])[];

export interface Sample {
  readonly labels: Labels;
  /** More labels. Both lists are sorted by name and are merged by name when written. */
  readonly more?: Labels;
  readonly value: number;
  /** Omitted: the time of the scrape. */
  readonly atWallMs?: number;
}

export interface HistogramSample {
  readonly labels: Labels;
  /** Cumulative counts by upper bound, ascending. The bucket without a bound is `count`. */
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

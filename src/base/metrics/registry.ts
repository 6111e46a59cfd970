/**
 * Counts and measures this process, by metric family. The labels of a family are fixed. New label values create a new
 * series; beyond `seriesMax` series they are counted in one series named "other". So no client can make the metrics
 * grow without bounds. Counting costs one lookup; everything else happens at collection.
 */
import { assert } from "../assert.ts";
import type { Family, HistogramSample, Labels, Sample } from "./family.ts";

/** One value for each label name. */
export type LabelValues<Names extends readonly string[]> = { readonly [Index in keyof Names]: string };

export interface FamilySpec<Names extends readonly string[]> {
  readonly name: string;
  readonly help: string;
  readonly labels: Names;
  /** Default: 1000. */
  readonly seriesMax?: number;
}

export interface HistogramSpec<Names extends readonly string[]> extends FamilySpec<Names> {
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

/** A value with its label values, read at collection. */
export type Reading<Names extends readonly string[]> = readonly [value: number, ...labels: LabelValues<Names>];

const SERIES_MAX = 1_000;
const OTHER = "other";
const BETWEEN = "\u0000";

/** The series of one family, by label values. */
class SeriesTable<Names extends readonly string[], Series> {
  readonly #spec: FamilySpec<Names>;
  readonly #make: () => Series;
  readonly #series = new Map<string, { readonly values: LabelValues<Names>; readonly series: Series }>();

  constructor(spec: FamilySpec<Names>, make: () => Series) {
    this.#spec = spec;
    this.#make = make;
    // A family without labels has its series from the start, so that scrapers see its first increase.
    if (spec.labels.length === 0) this.of([] as unknown as LabelValues<Names>);
  }

  of(values: LabelValues<Names>): Series {
    const key = values.length === 1 ? String(values[0]) : values.join(BETWEEN);
    const known = this.#series.get(key);
    if (known !== undefined) return known.series;
    const isFull = this.#series.size >= (this.#spec.seriesMax ?? SERIES_MAX);
    const others = this.#spec.labels.map(() => OTHER);
    if (isFull && key !== others.join(BETWEEN)) return this.of(others as unknown as LabelValues<Names>);
    const series = this.#make();
    this.#series.set(key, { values, series });
    return series;
  }

  forget(values: LabelValues<Names>): void {
    this.#series.delete(values.length === 1 ? String(values[0]) : values.join(BETWEEN));
  }

  collect<Sampled extends { readonly labels: Labels }>(sample: (labels: Labels, series: Series) => Sampled): Sampled[] {
    const samples = [...this.#series.values()].map(({ values, series }) =>
      sample(pairsOf(this.#spec.labels, values), series),
    );
    return samples.sort(byLabels);
  }
}

export class Counter<Names extends readonly string[]> {
  readonly #table: SeriesTable<Names, { value: number }>;

  constructor(spec: FamilySpec<Names>) {
    this.#table = new SeriesTable(spec, () => ({ value: 0 }));
  }

  add(by: number, ...values: LabelValues<Names>): void {
    this.#table.of(values).value += by;
  }

  increment(...values: LabelValues<Names>): void {
    this.#table.of(values).value += 1;
  }

  /** Creates the series with value 0: scrapers cannot see an increase in a series that starts with its first event. */
  expect(...values: LabelValues<Names>): void {
    this.#table.of(values);
  }

  /** Removes the series of an object that no longer exists. */
  forget(...values: LabelValues<Names>): void {
    this.#table.forget(values);
  }

  samples(): Sample[] {
    return this.#table.collect((labels, { value }) => ({ labels, value }));
  }
}

export class Gauge<Names extends readonly string[]> {
  readonly #table: SeriesTable<Names, { value: number }>;

  constructor(spec: FamilySpec<Names>) {
    this.#table = new SeriesTable(spec, () => ({ value: 0 }));
  }

  set(value: number, ...values: LabelValues<Names>): void {
    this.#table.of(values).value = value;
  }

  add(by: number, ...values: LabelValues<Names>): void {
    this.#table.of(values).value += by;
  }

  samples(): Sample[] {
    return this.#table.collect((labels, { value }) => ({ labels, value }));
  }
}

interface Observations {
  /** Per bucket, not cumulative; the last bucket has no bound. */
  readonly counts: Float64Array;
  sum: number;
}

export class Histogram<Names extends readonly string[]> {
  readonly #buckets: readonly number[];
  readonly #table: SeriesTable<Names, Observations>;

  constructor(spec: HistogramSpec<Names>) {
    const { buckets } = spec;
    assert(
      buckets.every((bound, index) => index === 0 || bound > (buckets[index - 1] ?? bound)),
      "bounds of a histogram ascend",
    );
    this.#buckets = buckets;
    this.#table = new SeriesTable(spec, () => ({ counts: new Float64Array(buckets.length + 1), sum: 0 }));
  }

  observe(value: number, ...values: LabelValues<Names>): void {
    const series = this.#table.of(values);
    const { counts } = series;
    let index = 0;
    for (const bound of this.#buckets) {
      if (value <= bound) break;
      index += 1;
    }
    counts[index] = (counts[index] ?? 0) + 1;
    series.sum += value;
  }

  /** Removes the series of an object that no longer exists. */
  forget(...values: LabelValues<Names>): void {
    this.#table.forget(values);
  }

  samples(): HistogramSample[] {
    return this.#table.collect((labels, { counts, sum }) => {
      let count = 0;
      const buckets = this.#buckets.map((bound, index) => {
        count += counts[index] ?? 0;
        return [bound, count] as const;
      });
      return { labels, buckets, count: count + (counts[this.#buckets.length] ?? 0), sum };
    });
  }
}

/** Describes a family, whether or not it has samples yet. */
export interface FamilyShape {
  readonly name: string;
  readonly kind: Family["kind"];
  readonly labels: readonly string[];
}

export class Registry {
  readonly #families = new Map<string, { readonly shape: FamilyShape; readonly collect: () => Family }>();

  counter<const Names extends readonly string[]>(spec: FamilySpec<Names>): Counter<Names> {
    const counter = new Counter(spec);
    this.#add(spec, "counter", ({ name, help }) => ({ name, help, kind: "counter", samples: counter.samples() }));
    return counter;
  }

  gauge<const Names extends readonly string[]>(spec: FamilySpec<Names>): Gauge<Names> {
    const gauge = new Gauge(spec);
    this.#add(spec, "gauge", ({ name, help }) => ({ name, help, kind: "gauge", samples: gauge.samples() }));
    return gauge;
  }

  histogram<const Names extends readonly string[]>(spec: HistogramSpec<Names>): Histogram<Names> {
    const histogram = new Histogram(spec);
    this.#add(spec, "histogram", ({ name, help }) => ({ name, help, kind: "histogram", samples: histogram.samples() }));
    return histogram;
  }

  /** A family whose values are stored elsewhere and are read at each collection. */
  reads<const Names extends readonly string[]>(
    spec: FamilySpec<Names> & { readonly kind: "counter" | "gauge" },
    read: () => readonly Reading<Names>[],
  ): void {
    this.#add(spec, spec.kind, ({ name, help }) => {
      const samples = read().map(([value, ...values]) => ({
        labels: pairsOf(spec.labels, values as unknown as LabelValues<Names>),
        value,
      }));
      return { name, help, kind: spec.kind, samples: samples.sort(byLabels) };
    });
  }

  shapes(): readonly FamilyShape[] {
    return [...this.#families.values()].map(({ shape }) => shape);
  }

  /** Sorted by name. Families without samples are omitted. */
  collect(): readonly Family[] {
    const families = [...this.#families.values()].map(({ collect }) => collect());
    return families.filter(({ samples }) => samples.length > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #add<Names extends readonly string[]>(
    spec: FamilySpec<Names>,
    kind: Family["kind"],
    collect: (spec: FamilySpec<Names>) => Family,
  ): void {
    const { name, labels } = spec;
    assert(!this.#families.has(name), `one family is called ${name}`);
    this.#families.set(name, { shape: { name, kind, labels }, collect: () => collect(spec) });
  }
}

/** Sorted by label name, as all writers of this format do. */
function pairsOf<Names extends readonly string[]>(names: Names, values: LabelValues<Names>): Labels {
  const pairs = names.map((name, index) => [name, values[index] ?? ""] as const);
  return pairs.sort(([a], [b]) => (a < b ? -1 : 1));
}

function byLabels(a: { readonly labels: Labels }, b: { readonly labels: Labels }): number {
  for (const [index, [, value]] of a.labels.entries()) {
    const other = b.labels[index]?.[1] ?? "";
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}

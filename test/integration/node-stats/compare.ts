/**
 * Compares the stats that two nodes report of the same pods: what only one has, and what both have with different
 * values.
 */
import type { Reported, Series } from "./series.ts";

/** Two readings of one node, some seconds apart. */
export interface Looks {
  readonly first: Series;
  readonly second: Series;
}

/** How close two values must be. `perSecond` compares how fast a counter grew between the readings. */
export type Nearness =
  | { readonly kind: "same" }
  | { readonly kind: "within"; readonly absolute: number; readonly share: number }
  | { readonly kind: "perSecond"; readonly absolute: number; readonly share: number }
  | { readonly kind: "time"; readonly seconds: number }
  /**
   * A counter of a resource that both nodes share: the Go kubelet read it between our two readings, so its value lies
   * between ours.
   */
  | { readonly kind: "between" }
  /** The values are of different moments, or on one of the two nodes only: just their types are compared. */
  | { readonly kind: "present"; readonly why: string };

export type Rules = readonly (readonly [RegExp, Nearness])[];

/** What only one node has, or reports with another value, and why that is right. */
export type Differences = readonly (readonly [RegExp, string])[];

export interface Comparison {
  readonly compared: number;
  readonly onlyPresent: number;
  readonly known: ReadonlyMap<string, number>;
  readonly unexplained: readonly string[];
}

export function compare(theirs: Looks, ours: Looks, rules: Rules, differences: Differences): Comparison {
  const known = new Map<string, number>();
  const unexplained: string[] = [];
  let [compared, onlyPresent] = [0, 0];
  const say = (key: string, what: string) => {
    const why = differences.find(([pattern]) => pattern.test(key))?.[1];
    if (why === undefined) unexplained.push(`${key}: ${what}`);
    else known.set(why, (known.get(why) ?? 0) + 1);
  };
  for (const key of new Set([...theirs.second.keys(), ...ours.second.keys()])) {
    const [go, own] = [theirs.second.get(key), ours.second.get(key)];
    if (own === undefined) say(key, "only the Go kubelet tells it");
    else if (go === undefined) say(key, `only we tell it (${own.value})`);
    else {
      const nearness = rules.find(([pattern]) => pattern.test(key))?.[1] ?? { kind: "same" };
      compared += 1;
      if (nearness.kind === "present") onlyPresent += 1;
      const trouble = apart(go, own, nearness, { go: theirs.first.get(key), own: ours.first.get(key) });
      if (trouble !== undefined) say(key, trouble);
    }
  }
  return { compared, onlyPresent, known, unexplained };
}

function apart(
  go: Reported,
  own: Reported,
  nearness: Nearness,
  before: { readonly go: Reported | undefined; readonly own: Reported | undefined },
): string | undefined {
  switch (nearness.kind) {
    case "present":
      return typeof go.value === typeof own.value ? undefined : `${go.value} and ${own.value}`;
    case "same":
      return go.value === own.value ? undefined : `${go.value} there, ${own.value} here`;
    case "time": {
      const [there, here] = [go, own].map(({ value }) =>
        typeof value === "string" ? Date.parse(value) / 1000 : value,
      );
      return near(there ?? Number.NaN, here ?? Number.NaN, nearness.seconds, 0);
    }
    case "within":
      return near(Number(go.value), Number(own.value), nearness.absolute, nearness.share);
    case "between": {
      const [least, most] = [Number(before.own?.value ?? 0), Number(own.value)];
      const isBetween = least <= Number(go.value) && Number(go.value) <= most;
      return isBetween ? undefined : `${go.value} there, ${least} and then ${most} here`;
    }
    case "perSecond":
      return near(growth(before.go, go), growth(before.own, own), nearness.absolute, nearness.share);
  }
}

function near(there: number, here: number, absolute: number, share: number): string | undefined {
  const room = Math.max(absolute, share * Math.max(Math.abs(there), Math.abs(here)));
  return Math.abs(there - here) <= room ? undefined : `${there} there, ${here} here, more than ${room} apart`;
}

/** Growth per second. A series without an earlier reading counts as 0. */
function growth(before: Reported | undefined, after: Reported): number {
  const passedMs = (after.atMs ?? 0) - (before?.atMs ?? 0);
  if (before === undefined || passedMs <= 0) return 0;
  return (Number(after.value) - Number(before.value)) / (passedMs / 1000);
}

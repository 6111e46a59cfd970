/** Holds what two nodes tell of the same pods against each other: what only one has, and what both have and say differently. */
import type { Series, Told } from "./series.ts";

/** Two looks at one node, some seconds apart. */
export interface Looks {
  readonly first: Series;
  readonly second: Series;
}

/** How near two values must be. Of a counter, `perSecond`: how fast it grew between the looks. */
export type Nearness =
  | { readonly kind: "same" }
  | { readonly kind: "within"; readonly absolute: number; readonly share: number }
  | { readonly kind: "perSecond"; readonly absolute: number; readonly share: number }
  | { readonly kind: "time"; readonly seconds: number }
  /** A counter of what both nodes share: what the Go kubelet read between our two looks lies between what we told. */
  | { readonly kind: "between" }
  /** It says how things were at another moment, or on one of the two only. */
  | { readonly kind: "present"; readonly why: string };

export type Rules = readonly (readonly [RegExp, Nearness])[];

/** What one has and the other has not, or says otherwise, and why that is right. */
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
  go: Told,
  own: Told,
  nearness: Nearness,
  before: { readonly go: Told | undefined; readonly own: Told | undefined },
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

/** A counter that was not told before began at zero in between. */
function growth(before: Told | undefined, after: Told): number {
  const passedMs = (after.atMs ?? 0) - (before?.atMs ?? 0);
  if (before === undefined || passedMs <= 0) return 0;
  return (Number(after.value) - Number(before.value)) / (passedMs / 1000);
}

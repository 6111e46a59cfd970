/**
 * Every difference between the two agents that is meant, each with its reason. A row rewrites what was seen on one side, so that what
 * is left must be the same; a row that no case needs fails the suite.
 */
import type { Case, Side } from "./case.ts";
import type { Both, Observation } from "./observe.ts";

export interface Difference {
  readonly cases: RegExp;
  readonly part: keyof Observation;
  readonly side: Side;
  /** In the part as JSON. */
  readonly text: RegExp;
  readonly becomes: string;
  readonly why: string;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    cases: /^map-missing-long$/,
    part: "events",
    side: "deckhand",
    text: /,"Warning FailedMount - Unable to attach or mount volumes: unmounted volumes=\[absent hidden\], unattached volumes=\[\], failed to process volumes=\[\]: timed out waiting for the condition":0/g,
    becomes: "",
    why: "the Go kubelet 1.36.4 meant to tell after two minutes which volumes are missing, and takes its own deadline for a call that was broken off",
  },
];

const PARTS = [
  "statuses",
  "events",
  "views",
  "node",
  "requests",
  "left",
] as const satisfies readonly (keyof Observation)[];

/** What is not the same, one line each, with where it is; and the rows of the table that were needed. */
export function unlike(one: Case, both: Both, needed: Set<Difference>): readonly string[] {
  const { go, deckhand } = both;
  if (go.kind === "never" || deckhand.kind === "never") {
    const whys = [go, deckhand].map((seen, index) =>
      seen.kind === "never" ? `${["go", "deckhand"][index]}: ${seen.why}` : "",
    );
    return [`${one.name} never came so far. ${whys.filter(Boolean).join("; ")}`];
  }
  return PARTS.flatMap((part) => {
    const rewritten = (side: Side): unknown => {
      let text = JSON.stringify((side === "go" ? go : deckhand).seen[part]);
      for (const row of DIFFERENCES) {
        if (row.part !== part || row.side !== side || !row.cases.test(one.name)) continue;
        const after = text.replaceAll(row.text, row.becomes);
        if (after !== text) needed.add(row);
        text = after;
      }
      return JSON.parse(text);
    };
    return unlikeIn(rewritten("go"), rewritten("deckhand"), `${one.name}: ${part}`);
  });
}

function unlikeIn(theirs: unknown, ours: unknown, where: string): readonly string[] {
  if (Object.is(theirs, ours)) return [];
  if (isRecord(theirs) && isRecord(ours) && Array.isArray(theirs) === Array.isArray(ours)) {
    const keys = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])];
    return keys.flatMap((key) => unlikeIn(theirs[key], ours[key], `${where}.${key}`));
  }
  return [`${where}\n    theirs ${JSON.stringify(theirs)}\n    ours   ${JSON.stringify(ours)}`];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

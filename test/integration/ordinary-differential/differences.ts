/**
 * Every difference between the two agents that is meant, each with its reason. A row rewrites what was seen on one side, so that what
 * is left must be the same; a row that no case needs fails the suite, unless chance decides whether one does.
 */
import assert from "node:assert/strict";
import { SIDES, type Side } from "../../golden/sides.ts";
import type { Case } from "./case.ts";
import type { Both, Look } from "./observe.ts";

export interface Difference {
  readonly cases: RegExp;
  readonly part: keyof Look;
  readonly side: Side;
  /** In the part as JSON. */
  readonly text: RegExp;
  readonly becomes: string;
  readonly why: string;
  readonly isByChance?: true;
}

export const DIFFERENCES: readonly Difference[] = [
  {
    cases: /^(?:pull|image-volume)-/,
    part: "statuses",
    side: "deckhand",
    text: /; next try at <time>(?=")/g,
    becomes: "",
    why: "beyond upstream's words, a pull in vain says when it is tried again",
  },
  {
    cases: /^image-volume-/,
    part: "events",
    side: "go",
    text: /"Normal Pulled - Container image \\"[^"]*\/files-\d:1\\" already present on machine and can be accessed by the pod":\d+,/g,
    becomes: "",
    why: "the Go kubelet asks for the images of volumes anew at every look at a pod, and tells each time that they are there",
    isByChance: true,
  },
  {
    cases: /^image-volume-always$/,
    part: "events",
    side: "go",
    text: /(?<told>"Normal (?:Pulled|Pulling) - (?:[^"\\]|\\.)*\/files-2:1(?:[^"\\]|\\.)*":)\d+/g,
    becomes: "$<told>1",
    why: "the Go kubelet pulls the images of volumes anew at every look at a pod, also when it is long running",
    isByChance: true,
  },
  {
    cases: /^dns-/,
    part: "events",
    side: "go",
    text: /(?<told>"Warning (?:DNSConfigForming|MissingClusterDNS) - (?:[^"\\]|\\.)*":)[1-9]/g,
    becomes: "$<told>1",
    why: "the Go kubelet tells it whenever it puts a sandbox's configuration together, however often that is; we once for each sandbox",
    isByChance: true,
  },
  {
    cases: /^pull-secret-and-missing$/,
    part: "events",
    side: "go",
    text: /(?<told>"Warning FailedToRetrieveImagePullSecret - [^"]*":)[1-9]/g,
    becomes: "$<told>1",
    why: "the Go kubelet tells of a secret that is missing at every look at a pod, however many there are; we once for each try",
    isByChance: true,
  },
  {
    cases: /^(?:empty-again|mount-read-only-written|live-files|live-labels|group-denied|hosts-own)$/,
    part: "node",
    side: "go",
    text: /,"(?:plugins|volumes)(?:\/kubernetes\.io~[a-z-]+)?":"d 75[05] 0:0"/g,
    becomes: "",
    why: "when a pod has ended the folders that held its volumes go with the last of them; the Go kubelet leaves them, empty, until it is deleted",
  },
  {
    cases: /./,
    part: "node",
    side: "go",
    text: /(?<="(?:\.|volumes)":"d )755(?= 0:0")/g,
    becomes: "750",
    why: "in the Go kubelet a pod's folders are made by its worker or by its first volume, whoever is first, and only the worker keeps others out",
    isByChance: true,
  },
  {
    cases: /^empty-huge-unasked$/,
    part: "node",
    side: "go",
    text: /,"volumes\/kubernetes\.io~empty-dir(?:\/data)?":"d 7[57][57] 0:0"/g,
    becomes: "",
    why: "of a volume that is refused for what the pod asks for nothing is made; the Go kubelet makes its folder first",
    isByChance: true,
  },
  {
    cases: /^token-without-account$/,
    part: "requests",
    side: "deckhand",
    text: /"RunPodSandbox":\[.+\](?=,"CreateContainer":\[\])/g,
    becomes: '"RunPodSandbox":[]',
    why: "a sandbox is made while volumes that lack nothing are being brought, also when the API server then refuses the token",
    isByChance: true,
  },
  {
    cases: /^map-missing-long$/,
    part: "events",
    side: "deckhand",
    text: /,"Warning FailedMount - Unable to attach or mount volumes: unmounted volumes=\[absent hidden\], unattached volumes=\[\], failed to process volumes=\[\]: timed out waiting for the condition":0/g,
    becomes: "",
    why: "the Go kubelet 1.36.4 meant to tell after two minutes which volumes are missing, and takes its own deadline for a call that was broken off",
    isByChance: true,
  },
];

const LOOKS = ["statuses", "events", "views", "node", "requests"] as const satisfies readonly (keyof Look)[];

/** What is not the same, one line each, with where it is; and the rows of the table that were needed. */
export function unlike(one: Case, { go, deckhand }: Both, needed: Set<Difference>): readonly string[] {
  if (go.kind === "never" || deckhand.kind === "never") {
    const whys = [go, deckhand].map((seen, index) => (seen.kind === "never" ? `${SIDES[index]}: ${seen.why}` : ""));
    return [`${one.name} never came so far. ${whys.filter(Boolean).join("; ")}`];
  }
  const both = { go: go.seen, deckhand: deckhand.seen };
  return [
    ...unlikeLooks(one, both, needed),
    ...SIDES.flatMap((side) => both[side].left.map((what) => `${one.name}: ${what} is left under ${side}`)),
  ];
}

export interface Compared {
  readonly cases: readonly Case[];
  readonly results: ReadonlyMap<string, Both>;
  /** Rows of the table that were needed are added. */
  readonly needed?: Set<Difference>;
}

/** Every case of the row is the same on both sides. */
export function alike(row: string, { cases: all, results, needed = new Set() }: Compared): void {
  const cases = all.filter(({ rows }) => rows.includes(row));
  assert.ok(cases.length > 0, `a case of ${row}`);
  const found = cases.flatMap((one) => unlike(one, results.get(one.name) ?? assert.fail(one.name), needed));
  assert.equal(found.length, 0, `${found.length} differences in ${cases.length} cases\n${found.join("\n")}`);
}

export const unlikeLooks = (
  one: Case,
  both: Readonly<Record<Side, Look>>,
  needed = new Set<Difference>(),
): readonly string[] =>
  LOOKS.flatMap((part) => {
    const rewritten = (side: Side): unknown => {
      let text = JSON.stringify(both[side][part]);
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

function unlikeIn(theirs: unknown, ours: unknown, where: string): readonly string[] {
  if (Object.is(theirs, ours)) return [];
  if (Array.isArray(theirs) && Array.isArray(ours) && theirs.length !== ours.length) {
    return [`${where}\n    only theirs ${without(theirs, ours)}\n    only ours   ${without(ours, theirs)}`];
  }
  if (isRecord(theirs) && isRecord(ours) && Array.isArray(theirs) === Array.isArray(ours)) {
    const keys = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])];
    return keys.flatMap((key) => unlikeIn(theirs[key], ours[key], `${where}.${key}`));
  }
  return [`${where}\n    theirs ${JSON.stringify(theirs)}\n    ours   ${JSON.stringify(ours)}`];
}

/** Of a list that is longer or shorter than the other: what the other does not have. */
function without(these: readonly unknown[], those: readonly unknown[]): string {
  const known = new Set(those.map((item) => JSON.stringify(item)));
  return JSON.stringify(these.filter((item) => !known.has(JSON.stringify(item))));
}

/** How many single values were held against each other. */
export const fieldsCompared = ({ go }: Both): number => (go.kind === "never" ? 0 : leavesIn(go.seen));

const leavesIn = (value: unknown): number =>
  isRecord(value) ? Object.values(value).reduce<number>((sum, item) => sum + leavesIn(item), 0) : 1;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

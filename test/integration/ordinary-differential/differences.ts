/**
 * Every intended difference between the two agents, with its reason. A row rewrites the observations of one agent, so
 * that the rest must be equal. Rows of the Go kubelet apply to its recorded answers at comparison, so the recording
 * decides which of them are needed. A row that no case needs fails the suite.
 */
import { readRecording } from "../../golden/recording.ts";
import { SEQUENCE } from "../../golden/sequence.ts";
import type { Side } from "../../golden/sides.ts";
import type { Look } from "./observe.ts";

export interface Difference {
  readonly cases: RegExp;
  /** A row for the statuses applies to the statuses in the sequence, too. */
  readonly part: keyof Look | typeof SEQUENCE;
  readonly side: Side;
  /** Matched in the part as JSON. */
  readonly text: RegExp;
  readonly becomes: string;
  readonly why: string;
}

const DIFFERENCES: readonly Difference[] = [
  {
    cases: /^(?:pull|image-volume)-/,
    part: "statuses",
    side: "deckhand",
    text: /; (?:next try at <time>|Image \\"[^"]*\\" waits to be pulled, number \d+ in the queue)(?=")/g,
    becomes: "",
    why: "beyond upstream's words, Deckhand says when it tries a failed pull again, or that the pull waits for its turn",
  },
  {
    cases: /^image-volume-/,
    part: "events",
    side: "go",
    text: /"Normal Pulled - Container image \\"[^"]*\/files-\d:1\\" already present on machine and can be accessed by the pod":\d+,/g,
    becomes: "",
    why: "the Go kubelet looks for the images of volumes at every sync of a pod, and reports each time that they are present",
  },
  {
    cases: /^image-volume-always$/,
    part: "events",
    side: "go",
    text: /(?<reported>"Normal (?:Pulled|Pulling) - (?:[^"\\]|\\.)*\/files-2:1(?:[^"\\]|\\.)*":)\d+/g,
    becomes: "$<reported>1",
    why: "the Go kubelet pulls the images of volumes again at every sync of a pod, also when its containers run",
  },
  {
    cases: /^dns-/,
    part: "events",
    side: "go",
    text: /(?<reported>"Warning (?:DNSConfigForming|MissingClusterDNS) - (?:[^"\\]|\\.)*":)[1-9]/g,
    becomes: "$<reported>1",
    why: "the Go kubelet reports it whenever it puts a sandbox's configuration together, however often that is; Deckhand once for each sandbox",
  },
  {
    cases: /^(?:empty-again|mount-read-only-written|live-files|live-labels|group-denied|hosts-own)$/,
    part: "node",
    side: "go",
    text: /,"(?:plugins|volumes)(?:\/kubernetes\.io~[a-z-]+)?":"d 75[05] 0:0"/g,
    becomes: "",
    why: "when a pod has ended, Deckhand removes the directories of its volumes with the last volume; the Go kubelet leaves them, empty, until the pod is deleted",
  },
  {
    cases: /./,
    part: "node",
    side: "go",
    text: /(?<="(?:\.|volumes)":"d )755(?= 0:0")/g,
    becomes: "750",
    why: "in the Go kubelet a pod's worker or its first volume creates the pod's directories, whichever is first, and only the worker denies access to others",
  },
  {
    cases: /^empty-huge-unasked$/,
    part: "node",
    side: "go",
    text: /,"volumes\/kubernetes\.io~empty-dir(?:\/data)?":"d 7[57][57] 0:0"/g,
    becomes: "",
    why: "Deckhand creates nothing for a volume whose size it rejects; the Go kubelet creates its directory first",
  },
  {
    cases: /./,
    part: SEQUENCE,
    side: "go",
    text: /"message":"containers with unready status: [^"]*",(?<generation>"observedGeneration":\d+,)"reason":"ContainersNotReady"(?=(?:(?!"conditions":).)*"phase":"Failed")/g,
    becomes: '$<generation>"reason":"PodFailed"',
    why: "the Go kubelet does not compute the conditions of a pod again when it fails the pod because its containers were never created",
  },
  {
    cases: /^image-volume-/,
    part: SEQUENCE,
    side: "go",
    text: /,"Normal Pulled - Container image \\"[^"]*\/files-\d:1\\" already present on machine and can be accessed by the pod"/g,
    becomes: "",
    why: "the Go kubelet looks for the images of volumes at every sync of a pod, and reports each time that they are present; so the sequence has it too",
  },
  {
    cases: /^image-volume-always$/,
    part: SEQUENCE,
    side: "go",
    text: /(?<="StartContainer main 0"),"PullImage"/g,
    becomes: "",
    why: "the Go kubelet pulls the images of volumes again at every sync of a pod, also when its containers run; so the sequence has it too",
  },
];

export const LOOKS = ["statuses", "events", "views", "node", "requests"] as const satisfies readonly (keyof Look)[];

/** The recording's key for this part of a case. */
export const questionOf = (caseName: string, part: keyof Look | typeof SEQUENCE): string => `${caseName} ${part}`;

function isFor({ part, cases }: Difference, question: string): boolean {
  const asked = question.slice(question.lastIndexOf(" ") + 1);
  const isOfPart = asked === part || (part === "statuses" && asked === SEQUENCE);
  return isOfPart && cases.test(question.slice(0, -asked.length - 1));
}

/** Applies the rows for that agent to the answer, and calls `needed` for each row that changes it. */
function rewrite(side: Side, question: string, answer: unknown, needed: (row: Difference) => void): unknown {
  let text = JSON.stringify(answer);
  for (const row of DIFFERENCES) {
    if (row.side !== side || !isFor(row, question)) continue;
    const after = text.replaceAll(row.text, row.becomes);
    if (after !== text) needed(row);
    text = after;
  }
  return JSON.parse(text);
}

export const rewriteOfGo = (question: string, answer: unknown): unknown =>
  rewrite("go", question, answer, () => undefined);

export const rewriteOfDeckhand = (question: string, answer: unknown, needed: Set<Difference>): unknown =>
  rewrite("deckhand", question, answer, (row) => needed.add(row));

/** Rows that neither the recorded answers nor Deckhand's need. */
export function unneededDifferences(suite: string, neededByDeckhand: ReadonlySet<Difference>): readonly Difference[] {
  const needed = new Set(neededByDeckhand);
  for (const { question, answers } of readRecording(suite)) {
    for (const answer of answers) rewrite("go", question, answer, (row) => needed.add(row));
  }
  return DIFFERENCES.filter((row) => !needed.has(row));
}

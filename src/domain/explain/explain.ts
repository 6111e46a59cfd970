/**
 * Answers "why is this pod in this state?" from the journal's records alone. It explains the newest instance of the
 * pod's name and lists earlier ones. Records about the node as a whole apply to all pods.
 */
import type { Entry } from "./entry.ts";
import { foldHistory } from "./pod-history.ts";
import { sentenceOf } from "./sentence.ts";
import { type TimelineLine, timelineOf } from "./timeline.ts";

export interface Explanation {
  readonly pod: string;
  readonly uid: string;
  readonly sentence: string;
  readonly timeline: readonly TimelineLine[];
  /** Newest first. */
  readonly earlier: readonly EarlierLife[];
}

export interface EarlierLife {
  readonly uid: string;
  readonly fromWallMs: number;
  readonly toWallMs: number;
  readonly sentence: string;
}

export interface Question {
  /** Namespace and name. */
  readonly pod: string;
  /** The instance to explain; undefined: the newest. */
  readonly uid?: string | undefined;
  readonly nowWallMs: number;
}

/** Undefined when no record names the pod. The records are in the order in which they were written. */
export function explain(entries: readonly Entry[], { pod, uid, nowWallMs }: Question): Explanation | undefined {
  const lives = livesOf(entries, pod);
  const chosen = uid === undefined ? lives.at(-1) : lives.findLast((life) => life.uid === uid);
  if (chosen === undefined) return undefined;
  const sentence = (life: Life) => sentenceOf(foldHistory(life.entries), nowWallMs);
  return {
    pod,
    uid: chosen.uid,
    sentence: sentence(chosen),
    timeline: timelineOf(chosen.entries),
    earlier: lives
      .slice(0, lives.indexOf(chosen))
      .toReversed()
      .map((life) => ({
        uid: life.uid,
        fromWallMs: life.own[0]?.wallMs ?? 0,
        toWallMs: life.own.at(-1)?.wallMs ?? 0,
        sentence: sentence(life),
      })),
  };
}

interface Life {
  readonly uid: string;
  /** Includes records about the node from the same time. */
  readonly entries: Entry[];
  readonly own: Entry[];
  isFinished: boolean;
  /** IDs of containers whose exit is known, so that an exit that was written twice counts once. */
  readonly exits: Set<string>;
}

/** In the order in which they began. */
function livesOf(entries: readonly Entry[], pod: string): readonly Life[] {
  const lives: Life[] = [];
  const open = new Map<string, Life>();
  let ofNode: readonly Entry[] = [];
  for (const entry of entries) {
    if (entry.kind === "nodeState") continue;
    if (entry.uid === "") {
      for (const life of open.values()) if (!life.isFinished) life.entries.push(entry);
      // A problem from before the pod was created still applies to it.
      ofNode = entry.kind === "told" && entry.reason !== "RuntimeReady" ? [entry] : [];
    } else if (entry.pod === pod) {
      const known = open.get(entry.uid);
      if (entry.kind === "exited" && known?.exits.has(entry.containerId)) continue;
      // Only a static pod can begin again under its UID.
      const life =
        known === undefined || (known.isFinished && entry.kind === "admitted") ? begin(entry, ofNode) : known;
      if (life !== known) lives.push(life);
      open.set(entry.uid, life);
      life.entries.push(entry);
      life.own.push(entry);
      if (entry.kind === "finished") life.isFinished = true;
      if (entry.kind === "exited") life.exits.add(entry.containerId);
    }
  }
  return lives;
}

const begin = ({ uid }: Entry, ofNode: readonly Entry[]): Life => ({
  uid,
  entries: [...ofNode],
  own: [],
  isFinished: false,
  exits: new Set(),
});

/** Names of pods similar to `pod`, best match first. */
export function nearNames(entries: readonly Entry[], pod: string, most: number): readonly string[] {
  const [, name = pod] = pod.split("/");
  const known = [...new Set(entries.map((entry) => entry.pod))].filter((each) => each !== "");
  return known
    .map((each) => ({ each, distance: distanceOf(each, pod, name) }))
    .filter(({ distance }) => distance < FAR)
    .toSorted((a, b) => a.distance - b.distance || (a.each < b.each ? -1 : 1))
    .slice(0, most)
    .map(({ each }) => each);
}

const FAR = 100;

/**
 * The same name in another namespace, then names that begin or contain each other, then names with few typing errors.
 */
function distanceOf(known: string, pod: string, name: string): number {
  const [, own = known] = known.split("/");
  if (own === name) return 0;
  if (own.startsWith(name) || name.startsWith(own)) return 1;
  if (own.includes(name) || name.includes(own)) return 2;
  const errorsMax = Math.max(2, Math.floor(Math.min(pod.length, known.length) / 5));
  // The comparison costs the product of the lengths, and a client chooses `pod`.
  if (Math.abs(known.length - pod.length) > errorsMax) return FAR;
  const errors = editsBetween(known, pod);
  return errors <= errorsMax ? 2 + errors : FAR;
}

/** The edit distance: how many letters to change, add or remove. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

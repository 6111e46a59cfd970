/**
 * What the journal says of each UID. A record that comes twice changes nothing, because an append whose answer got lost is done again.
 *
 * A UID that is finished begins a new life when it is taken in again: only a static pod does, whose UID is that of its manifest.
 */
import { assertNever } from "../../base/assert.ts";
import type { JournalRecord } from "./records.ts";

type Exited = Extract<JournalRecord, { kind: "exited" }>;
type StaticPod = Extract<JournalRecord, { kind: "staticPod" }>;

/** More would let one crash loop fill the journal. */
const EXITS_PER_CONTAINER_MAX = 10;

export type ExitFact = Omit<Exited, "kind" | "uid" | "pod" | "container">;

type AdmissionFact =
  | { readonly kind: "admitted" }
  | { readonly kind: "rejected"; readonly reason: string; readonly message: string };

interface TerminatingFact {
  readonly sinceWallMs: number;
  /** Why it began. */
  readonly why: string;
  /** The smallest that was asked for, and since when it counts. */
  readonly graceSeconds: number;
  readonly graceSinceWallMs: number;
}

export interface UidFacts {
  readonly uid: string;
  readonly pod: string;
  /** Undefined when the journal begins after it was taken in. */
  readonly admission: AdmissionFact | undefined;
  readonly startWallMs: number | undefined;
  readonly terminating: TerminatingFact | undefined;
  /** By container name, the newest few, oldest first, each container ID once. */
  readonly exits: ReadonlyMap<string, readonly ExitFact[]>;
  readonly terminalPhase: "Succeeded" | "Failed" | undefined;
  readonly finishedWallMs: number | undefined;
  /** Paths that were mounted for its volumes, by path the volume's name. */
  readonly mounts: ReadonlyMap<string, string>;
  readonly staticPod: Pick<StaticPod, "source" | "contentHash" | "configHash"> | undefined;
}

export function foldFacts(records: Iterable<JournalRecord>): ReadonlyMap<string, UidFacts> {
  const facts = new Map<string, UidFacts>();
  for (const record of records) {
    if (record.kind === "decision") continue;
    facts.set(record.uid, afterRecord(facts.get(record.uid) ?? nothingKnown(record), record));
  }
  return facts;
}

/** The same object when the record says nothing new. */
export function afterRecord(known: UidFacts, record: JournalRecord): UidFacts {
  switch (record.kind) {
    case "admitted":
    case "rejected":
      return afterAdmission(known, record);
    case "terminating":
      return afterTerminating(known, record);
    case "exited":
      return afterExit(known, record);
    case "terminal":
      // The phase is final: the first one stays.
      return known.terminalPhase === undefined ? { ...known, terminalPhase: record.phase } : known;
    case "finished":
      return known.finishedWallMs === undefined ? { ...known, finishedWallMs: record.wallMs } : known;
    case "mounting":
      if (known.mounts.get(record.path) === record.volume) return known;
      return { ...known, mounts: new Map(known.mounts).set(record.path, record.volume) };
    case "staticPod":
      return afterStaticPod(known, record);
    case "decision":
      return known;
    default:
      return assertNever(record);
  }
}

export const nothingKnown = ({ uid, pod }: { readonly uid: string; readonly pod: string }): UidFacts => ({
  uid,
  pod,
  admission: undefined,
  startWallMs: undefined,
  terminating: undefined,
  exits: new Map(),
  terminalPhase: undefined,
  finishedWallMs: undefined,
  mounts: new Map(),
  staticPod: undefined,
});

function afterAdmission(known: UidFacts, record: Extract<JournalRecord, { kind: "admitted" | "rejected" }>): UidFacts {
  const life = known.finishedWallMs === undefined ? known : { ...nothingKnown(known), staticPod: known.staticPod };
  const startWallMs = life.startWallMs ?? record.wallMs;
  if (record.kind === "admitted") {
    return life.admission === undefined ? { ...life, startWallMs, admission: { kind: "admitted" } } : life;
  }
  if (life.admission?.kind === "rejected") return life;
  const { reason, message } = record;
  return { ...life, startWallMs, admission: { kind: "rejected", reason, message } };
}

function afterTerminating(known: UidFacts, record: Extract<JournalRecord, { kind: "terminating" }>): UidFacts {
  const before = known.terminating;
  if (before !== undefined && before.graceSeconds <= record.graceSeconds) return known;
  const terminating = {
    sinceWallMs: before?.sinceWallMs ?? record.wallMs,
    why: before?.why ?? record.why,
    graceSeconds: record.graceSeconds,
    graceSinceWallMs: record.wallMs,
  };
  return { ...known, terminating };
}

function afterExit(known: UidFacts, record: Exited): UidFacts {
  const before = known.exits.get(record.container) ?? [];
  if (before.some((exit) => exit.containerId === record.containerId)) return known;
  const { kind: _kind, uid: _uid, pod: _pod, container, ...exit } = record;
  return { ...known, exits: new Map(known.exits).set(container, [...before, exit].slice(-EXITS_PER_CONTAINER_MAX)) };
}

function afterStaticPod(known: UidFacts, record: StaticPod): UidFacts {
  const { source, contentHash, configHash } = record;
  const before = known.staticPod;
  if (before?.source === source && before.contentHash === contentHash && before.configHash === configHash) return known;
  return { ...known, staticPod: { source, contentHash, configHash } };
}

/** Whether this UID's life is over for good. Only a static pod whose manifest went away may live again. */
export const isOver = ({ finishedWallMs, terminating }: UidFacts, isStatic: boolean): boolean =>
  finishedWallMs !== undefined && !(isStatic && terminating?.why === "removed");

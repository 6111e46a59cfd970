/**
 * What of the journal still matters. Facts of a UID that is not finished stay, whatever they weigh: there are only as many as pods. Facts of
 * finished ones stay for a while, because an API server may show an old copy of a pod that is gone. What only explains goes first, but for what
 * explains the present: of each UID that is not finished, the last words on each of its containers and on itself.
 *
 * Age is by wall clock, which may jump. So a number of the newest finished UIDs is kept whatever the clock says, and when there is too much,
 * the order in the journal decides.
 */
import { equalAllocations } from "../resize/allocation.ts";
import type { Decision } from "./decisions.ts";
import { afterRecord, nothingKnown, type UidFacts } from "./facts.ts";
import { isExplanation, type JournalRecord } from "./records.ts";

/** Of what explains: nobody reads more of one pod, and a noisy one must not cost others theirs. */
const EXPLANATIONS_PER_UID_MAX = 60;

export interface CompactionLimits {
  readonly bytesTarget: number;
  readonly finishedKeptMs: number;
  readonly finishedKeptMin: number;
}

export interface SizedRecord {
  readonly record: JournalRecord;
  readonly bytes: number;
}

/** One UID's records that say something, and what they come to. */
interface Life<T> {
  facts: UidFacts;
  kept: T[];
  /** Where it ended, as a place in the journal. */
  finishedAt: number;
}

/** In the order they came. */
export function compact<T extends SizedRecord>(
  records: readonly T[],
  nowWallMs: number,
  limits: CompactionLimits,
): readonly T[] {
  const lives = [...collectLives(records).values()];
  const open = lives.filter((life) => life.facts.finishedWallMs === undefined);
  const finished = lives.filter((life) => life.facts.finishedWallMs !== undefined);
  const recent = finished
    .sort((a, b) => b.finishedAt - a.finishedAt)
    .filter(
      ({ facts }, index) =>
        index < limits.finishedKeptMin || nowWallMs - (facts.finishedWallMs ?? 0) < limits.finishedKeptMs,
    );
  const keep = new Set([...open.flatMap((life) => life.kept), ...lastWords(records, open)]);
  let room = limits.bytesTarget - weigh([...keep]);
  const keepWhileRoom = (group: readonly T[]) => {
    room -= weigh(group);
    if (room >= 0) for (const each of group) keep.add(each);
    return room >= 0;
  };
  recent.every((life) => keepWhileRoom(life.kept));
  newestExplanations(records)
    .filter((each) => !keep.has(each))
    .every((each) => keepWhileRoom([each]));
  return records.filter((each) => keep.has(each));
}

function collectLives<T extends SizedRecord>(records: readonly T[]): Map<string, Life<T>> {
  const lives = new Map<string, Life<T>>();
  for (const [place, sized] of records.entries()) {
    const { record } = sized;
    if (isExplanation(record)) continue;
    const life: Life<T> = lives.get(record.uid) ?? { facts: nothingKnown(record), kept: [], finishedAt: -1 };
    lives.set(record.uid, life);
    const facts = afterRecord(life.facts, record);
    if (facts === life.facts) continue;
    const isNewLife = life.facts.finishedWallMs !== undefined && facts.finishedWallMs === undefined;
    if (isNewLife) life.kept = life.kept.filter((each) => each.record.kind === "staticPod");
    life.facts = facts;
    life.kept.push(sized);
    if (record.kind === "finished") life.finishedAt = place;
    if (OUTLIVED.has(record.kind)) life.kept = life.kept.filter((each) => stillCounts(each.record, facts));
    if (LAST_HOLDS.has(record.kind)) {
      life.kept = life.kept.filter((each) => each === sized || each.record.kind !== record.kind);
    }
  }
  return lives;
}

/** The newest of each reason on each part of a pod that is not finished, or of the node; and what parts the pod has. */
function lastWords<T extends SizedRecord>(records: readonly T[], open: readonly Life<T>[]): readonly T[] {
  const uids = new Set(["", ...open.map(({ facts }) => facts.uid)]);
  const last = new Map<string, T>();
  for (const sized of records) {
    const { record } = sized;
    if (!uids.has(record.uid)) continue;
    if (record.kind === "told") last.set(`${record.uid} ${record.on} ${record.reason}`, sized);
    if (record.kind !== "decision") continue;
    const { kind } = record.decision;
    if (LASTING.has(kind)) last.set(`${record.uid} ${kind}`, sized);
  }
  return [...last.values()];
}

const LASTING: ReadonlySet<Decision["kind"]> = new Set(["admit", "startAgent"]);

/** Newest first. */
function newestExplanations<T extends SizedRecord>(records: readonly T[]): readonly T[] {
  const counts = new Map<string, number>();
  return records.toReversed().filter(({ record }) => {
    if (!isExplanation(record)) return false;
    const count = (counts.get(record.uid) ?? 0) + 1;
    counts.set(record.uid, count);
    return count <= EXPLANATIONS_PER_UID_MAX;
  });
}

/** What came before one of these, of its pod or container, may not matter any more. */
const OUTLIVED: ReadonlySet<JournalRecord["kind"]> = new Set([
  "exited",
  "hook",
  "restarting",
  "probed",
  "allocated",
  "resized",
  "restartForResize",
]);

/** Of these the last that said something says all. */
const LAST_HOLDS: ReadonlySet<JournalRecord["kind"]> = new Set(["staticPod", "restartingAll", "ending"]);

function stillCounts(record: JournalRecord, facts: UidFacts): boolean {
  const { exits, restarts, postStartDue, preStopDone, probed, allocated, restartsForResize } = facts;
  switch (record.kind) {
    case "exited":
      return exits.get(record.container)?.some(({ containerId }) => containerId === record.containerId) === true;
    case "restarting":
      return restarts.get(record.container)?.wallMs === record.wallMs;
    case "probed":
      return isLastWord(record, probed.get(record.container));
    case "allocated":
      if (record.allocation !== allocated?.actuated) return record.allocation === allocated?.allocation;
      // What came back to what was carried out says so by itself.
      return allocated.allocation === allocated.actuated || !equalAllocations(allocated.allocation, allocated.actuated);
    case "resized":
      // What is left of the allocations says so.
      return false;
    case "restartForResize":
      return restartsForResize.get(record.container) === record.containerId;
    case "hook":
      return (record.hook === "preStopDone" ? preStopDone : postStartDue).has(record.containerId);
    default:
      return true;
  }
}

/** Only the last word of its probes on a container still says something. */
const isLastWord = (
  { containerId, startup, liveness, readiness }: Extract<JournalRecord, { kind: "probed" }>,
  last: ReturnType<UidFacts["probed"]["get"]>,
): boolean =>
  last?.containerId === containerId &&
  last.startup === startup &&
  last.liveness === liveness &&
  last.readiness === readiness;

const weigh = (records: readonly SizedRecord[]) => records.reduce((sum, { bytes }) => sum + bytes, 0);

/**
 * Selects the records of the journal that still matter. Facts of a UID that is not finished stay, whatever their size:
 * there are only as many as pods. Facts of finished UIDs stay for a while, because an API server may return an old copy
 * of a deleted pod. Records that only explain are removed first, except those that explain the present. These are, for
 * each UID that is not finished, the last records about each of its containers and about the pod itself.
 *
 * Age is measured with the wall clock, which may jump. So a number of the newest finished UIDs is kept whatever the
 * clock says, and when the journal is too large, the order in the journal decides.
 */
import { equalAllocations } from "../resize/allocation.ts";
import type { Decision } from "./decisions.ts";
import { afterRecord, type JournaledPod, nothingKnown } from "./journaled-pod.ts";
import { isExplanation, type JournalRecord } from "./records.ts";

/** Explanations per UID: nobody reads more about one pod, and a noisy pod must not displace those of others. */
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

/** The records of one UID that changed what is known of the pod, and the result. */
interface Life<T> {
  journaledPod: JournaledPod;
  kept: T[];
  /** The position of the `finished` record in the journal. */
  finishedAt: number;
}

/** Returns the records that stay, in their order. */
export function compact<T extends SizedRecord>(
  records: readonly T[],
  nowWallMs: number,
  limits: CompactionLimits,
): readonly T[] {
  const lives = [...collectLives(records).values()];
  const open = lives.filter((life) => life.journaledPod.finishedWallMs === undefined);
  const finished = lives.filter((life) => life.journaledPod.finishedWallMs !== undefined);
  const recent = finished
    .sort((a, b) => b.finishedAt - a.finishedAt)
    .filter(
      ({ journaledPod }, index) =>
        index < limits.finishedKeptMin || nowWallMs - (journaledPod.finishedWallMs ?? 0) < limits.finishedKeptMs,
    );
  const keep = new Set([...open.flatMap((life) => life.kept), ...lastingExplanations(records, open)]);
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
    const life: Life<T> = lives.get(record.uid) ?? { journaledPod: nothingKnown(record), kept: [], finishedAt: -1 };
    lives.set(record.uid, life);
    const journaledPod = afterRecord(life.journaledPod, record);
    if (journaledPod === life.journaledPod) continue;
    const isNewLife = life.journaledPod.finishedWallMs !== undefined && journaledPod.finishedWallMs === undefined;
    if (isNewLife) life.kept = life.kept.filter((each) => each.record.kind === "staticPod");
    life.journaledPod = journaledPod;
    life.kept.push(sized);
    if (record.kind === "finished") life.finishedAt = place;
    if (OUTLIVED.has(record.kind)) life.kept = life.kept.filter((each) => stillCounts(each.record, journaledPod));
    if (LAST_HOLDS.has(record.kind)) {
      life.kept = life.kept.filter((each) => each === sized || each.record.kind !== record.kind);
    }
  }
  return lives;
}

/**
 * The newest record of each reason about each part of a pod that is not finished, or about the node. Also the newest
 * decision of each lasting kind, such as the one that names the pod's containers.
 */
function lastingExplanations<T extends SizedRecord>(records: readonly T[], open: readonly Life<T>[]): readonly T[] {
  const uids = new Set(["", ...open.map(({ journaledPod }) => journaledPod.uid)]);
  const last = new Map<string, T>();
  for (const sized of records) {
    const { record } = sized;
    if (!uids.has(record.uid)) continue;
    if (record.kind === "told") last.set(`${record.uid} ${record.on} ${record.reason}`, sized);
    if (record.kind === "nodeState") last.set(`node ${record.subject}`, sized);
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
    const key = record.kind === "nodeState" ? "node" : record.uid;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= EXPLANATIONS_PER_UID_MAX;
  });
}

/** Records that may make earlier records of the same pod or container obsolete. */
const OUTLIVED: ReadonlySet<JournalRecord["kind"]> = new Set([
  "exited",
  "hook",
  "restarting",
  "probed",
  "allocated",
  "resized",
  "restartForResize",
]);

/** Of these kinds, only the last record that changed something counts. */
const LAST_HOLDS: ReadonlySet<JournalRecord["kind"]> = new Set(["staticPod", "restartingAll", "ending"]);

function stillCounts(record: JournalRecord, journaledPod: JournaledPod): boolean {
  const { exits, restarts, postStartDue, preStopDone, probed, allocated, restartsForResize } = journaledPod;
  switch (record.kind) {
    case "exited":
      return exits.get(record.container)?.some(({ containerId }) => containerId === record.containerId) === true;
    case "restarting":
      return restarts.get(record.container)?.wallMs === record.wallMs;
    case "probed":
      return isLastWord(record, probed.get(record.container));
    case "allocated":
      if (record.allocation !== allocated?.actuated) return record.allocation === allocated?.allocation;
      // An allocation that is equal to the actuated one again implies it.
      return allocated.allocation === allocated.actuated || !equalAllocations(allocated.allocation, allocated.actuated);
    case "resized":
      // The allocations that stay imply it.
      return false;
    case "restartForResize":
      return restartsForResize.get(record.container) === record.containerId;
    case "hook":
      return (record.hook === "preStopDone" ? preStopDone : postStartDue).has(record.containerId);
    default:
      return true;
  }
}

/** Only the last probe verdicts of a container still count. */
const isLastWord = (
  { containerId, startup, liveness, readiness }: Extract<JournalRecord, { kind: "probed" }>,
  last: ReturnType<JournaledPod["probed"]["get"]>,
): boolean =>
  last?.containerId === containerId &&
  last.startup === startup &&
  last.liveness === liveness &&
  last.readiness === readiness;

const weigh = (records: readonly SizedRecord[]) => records.reduce((sum, { bytes }) => sum + bytes, 0);

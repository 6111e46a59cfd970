/**
 * What of the journal still matters. Facts of a UID that is not finished stay, whatever they weigh: there are only as many as pods. Facts of
 * finished ones stay for a while, because an API server may show an old copy of a pod that is gone. Decisions explain the past and go first.
 *
 * Age is by wall clock, which may jump. So a number of the newest finished UIDs is kept whatever the clock says, and when there is too much,
 * the order in the journal decides.
 */
import { afterRecord, nothingKnown, type UidFacts } from "./facts.ts";
import type { JournalRecord } from "./records.ts";

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
  const keep = new Set(open.flatMap((life) => life.kept));
  let room = limits.bytesTarget - weigh([...keep]);
  const keepWhileRoom = (group: readonly T[]) => {
    room -= weigh(group);
    if (room >= 0) for (const each of group) keep.add(each);
    return room >= 0;
  };
  recent.every((life) => keepWhileRoom(life.kept));
  const decisions = records.filter(({ record }) => record.kind === "decision").toReversed();
  decisions.every((decision) => keepWhileRoom([decision]));
  return records.filter((each) => keep.has(each));
}

function collectLives<T extends SizedRecord>(records: readonly T[]): Map<string, Life<T>> {
  const lives = new Map<string, Life<T>>();
  for (const [place, sized] of records.entries()) {
    const { record } = sized;
    if (record.kind === "decision") continue;
    const life: Life<T> = lives.get(record.uid) ?? { facts: nothingKnown(record), kept: [], finishedAt: -1 };
    lives.set(record.uid, life);
    const facts = afterRecord(life.facts, record);
    if (facts === life.facts) continue;
    const isNewLife = life.facts.finishedWallMs !== undefined && facts.finishedWallMs === undefined;
    if (isNewLife) life.kept = life.kept.filter((each) => each.record.kind === "staticPod");
    life.facts = facts;
    life.kept.push(sized);
    if (record.kind === "finished") life.finishedAt = place;
    if (record.kind === "exited") life.kept = withoutForgottenExits(life.kept, facts);
    if (record.kind === "staticPod") life.kept = life.kept.filter((e) => e === sized || e.record.kind !== "staticPod");
  }
  return lives;
}

function withoutForgottenExits<T extends SizedRecord>(kept: T[], { exits }: UidFacts): T[] {
  return kept.filter(
    ({ record }) =>
      record.kind !== "exited" ||
      exits.get(record.container)?.some(({ containerId }) => containerId === record.containerId) === true,
  );
}

const weigh = (records: readonly SizedRecord[]) => records.reduce((sum, { bytes }) => sum + bytes, 0);

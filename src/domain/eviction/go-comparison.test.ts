/** Compares with the Go kubelet's own answers, which `test/scripts/record-eviction.ts` records. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  EVICTION_ROUNDS,
  type EvictionSequence,
  evictionSequences,
  type RoundAnswer,
} from "../../../test/golden/eviction/sequences.ts";
import {
  EVICTION_ANSWERS,
  type EvictionAnswer,
  type EvictionTable,
  evictionTables,
} from "../../../test/golden/eviction/tables.ts";
import { statsByUid } from "../../../test/support/eviction-stats.ts";
import { goldenLines } from "../../../test/support/golden.ts";
import { parseReclaims, parseSoftThresholds, parseThresholds } from "../../app/options/eviction-thresholds.ts";
import type { Pressure } from "../node/conditions.ts";
import type { Observation, Signal } from "../node/pressure.ts";
import { reclaimSteps } from "./choose-victims.ts";
import { storageViolators } from "./local-storage.ts";
import { evictionText } from "./message.ts";
import { rankPods } from "./ranking.ts";
import { type EvictionThreshold, evaluate, evictionThresholds, NO_EVICTION_STATE, resourceOf } from "./thresholds.ts";

const tables = evictionTables();
const answers = goldenLines(EVICTION_ANSWERS) as readonly EvictionAnswer[];

function forEach(compare: (table: EvictionTable, answer: EvictionAnswer, title: string) => void): void {
  for (const [index, table] of tables.entries()) {
    const answer = answers[index];
    assert.ok(answer !== undefined);
    compare(table, answer, `table ${index}: ${table.signal}, ${table.layout}`);
  }
}

const statsIn = ({ stats }: EvictionTable) => statsByUid(stats);

const CONDITIONS = { memory: "MemoryPressure", disk: "DiskPressure", pid: "PIDPressure" } as const;

function decisionsOn({ hard, soft, graces, reclaims, ...sequence }: EvictionSequence): readonly RoundAnswer[] {
  const thresholds = evictionThresholds(
    { hard: parseThresholds(hard), soft: parseSoftThresholds(soft, graces), minReclaims: parseReclaims(reclaims) },
    { enforcesPods: sequence.allocatable.includes("pods"), layout: sequence.layout },
  );
  let state = NO_EVICTION_STATE;
  return sequence.rounds.map(({ nowMs, observations }) => {
    const evaluation = evaluate(state, observationsOf(observations), { thresholds, nowMs, holdMs: sequence.holdMs });
    state = evaluation.state;
    const conditions = Object.entries(CONDITIONS).filter(([kind]) => evaluation.pressure[kind as keyof Pressure]);
    return {
      conditions: conditions.map(([, type]) => type).toSorted(),
      met: evaluation.met.map(({ signal, graceMs }) => `${signal} ${GRACES[graceMs] ?? graceMs}`).toSorted(),
    };
  });
}

/** Grace periods as Go formats them. */
const GRACES: Readonly<Record<number, string>> = { 0: "0s", 1: "1ms", 10_000: "10s", 30_000: "30s", 60_000: "1m0s" };

type Measured = Readonly<Partial<Record<Signal, { available: number; capacity: number; atMs?: number }>>>;

const observationsOf = (measured: Measured) =>
  new Map(
    Object.entries(measured).map(([signal, { available, capacity, atMs = 0 }]): [Signal, Observation] => [
      signal as Signal,
      { available: BigInt(available), capacity: BigInt(capacity), atMonotonicMs: atMs },
    ]),
  );

void suite("the Go kubelet", () => {
  test("[17.5] the recording has 1000 tables, and in most of them pods are moved", () => {
    assert.deepEqual([tables.length, answers.length], [1000, 1000]);
    const moved = answers.filter(({ order }) => order.some((place, index) => place !== index));
    assert.ok(moved.length > 800, String(moved.length));
    const has = (test: (answer: EvictionAnswer) => boolean) => answers.filter(test).length > 20;
    for (const words of ["Usage of EmptyDir", "Pod ephemeral local storage", "Container "]) {
      assert.ok(
        has(({ storage }) => storage.some(({ message }) => message.startsWith(words))),
        words,
      );
    }
    for (const key of ["offending_pod", "offending_containers"])
      assert.ok(
        has(({ text }) => (text.annotations[key] ?? "") !== ""),
        key,
      );
  });

  test("[17.5] pods are ranked in the same order", () => {
    forEach((table, { order }, title) => {
      const ranked = rankPods(table, table.pods, statsIn(table));
      assert.deepEqual(
        ranked.map(({ pod }) => table.pods.indexOf(pod)),
        order,
        title,
      );
    });
  });

  test("[17.6] the first pod has the same message and annotations", () => {
    forEach((table, { order, text }, title) => {
      const pod = table.pods[order[0] ?? 0];
      assert.ok(pod !== undefined);
      const met = table.thresholds.flatMap(({ signal, value }): readonly EvictionThreshold[] =>
        parseThresholds({ [signal]: value }).map((one) => ({ ...one, graceMs: 0, minReclaim: undefined })),
      );
      const observations = observationsOf(table.observations);
      const shortage = { resource: resourceOf(table.signal), met, observations };
      assert.deepEqual(evictionText(shortage, pod, statsIn(table)(pod.metadata?.uid ?? "")), text, title);
    });
  });

  test("[17.7] the same pods exceed a limit of local storage, with the same messages", () => {
    forEach((table, { storage }, title) => {
      const violators = storageViolators(table.pods, statsIn(table), table.layout);
      assert.deepEqual(
        violators.map(({ pod, message }) => ({ pod: table.pods.indexOf(pod), message })),
        storage,
        title,
      );
    });
  });

  test("[17.2] [17.3] [17.8] every round sets the same conditions and evicts for the same thresholds", () => {
    const rounds = goldenLines(EVICTION_ROUNDS) as readonly (readonly RoundAnswer[])[];
    const sequences = evictionSequences();
    assert.equal(rounds.length, sequences.length);
    assert.ok(rounds.flat().filter(({ met }) => met.length > 0).length > 500);
    for (const [index, sequence] of sequences.entries()) {
      assert.deepEqual(decisionsOn(sequence), rounds[index], `sequence ${index}`);
    }
  });

  test("[17.4] containers and images are removed first in the same cases", () => {
    forEach(({ signal, layout }, { reclaims }, title) => {
      assert.deepEqual(reclaimSteps(signal, layout), reclaims, title);
    });
  });
});

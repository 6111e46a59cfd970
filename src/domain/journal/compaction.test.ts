import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compact } from "./compaction.ts";
import { foldJournaledPods, nothingKnown } from "./journaled-pod.ts";
import { allocatedRecord, decisionRecord, type JournalRecord } from "./records.ts";

const BYTES = 100;
const generous = { bytesTarget: 1e9, finishedKeptMs: 1e12, finishedKeptMin: 1e6 };

const of = (uid: string) => ({ uid, pod: `ns/${uid}` });
const admitted = (uid: string): JournalRecord => ({ kind: "admitted", ...of(uid), wallMs: 1 });
const finished = (uid: string, wallMs = 1): JournalRecord => ({ kind: "finished", ...of(uid), wallMs });
const decision = (uid: string, why: string): JournalRecord =>
  decisionRecord({ ...of(uid), wallMs: 1 }, { kind: "defer", why });
const exited = (uid: string, container: string, containerId: string): JournalRecord => ({
  kind: "exited",
  ...of(uid),
  wallMs: 1,
  container,
  containerId,
  exitCode: 1,
  reason: "Error",
  startedWallNs: "1",
  finishedWallNs: "2",
  restartCount: 0,
});

const probed = (uid: string, container: string, containerId: string, isReady: boolean): JournalRecord => ({
  kind: "probed",
  ...of(uid),
  wallMs: 1,
  container,
  containerId,
  startup: "success",
  liveness: "success",
  readiness: isReady ? "success" : "failure",
});

const ending = (
  uid: string,
  step: "containers" | "volumes",
  state: "begun" | "failed",
  attempts: number,
): JournalRecord => ({ kind: "ending", ...of(uid), wallMs: 1, step, state, attempts, error: "" });

const sized = (records: readonly JournalRecord[]) => records.map((record) => ({ record, bytes: BYTES }));
const kept = (records: readonly JournalRecord[], nowWallMs: number, limits: Partial<typeof generous>) =>
  compact(sized(records), nowWallMs, { ...generous, ...limits }).map(({ record }) => record);

void test("decisions are dropped before any fact, the oldest first", () => {
  const facts = [admitted("a"), finished("b")];
  const decisions = ["1", "2", "3", "4"].map((why) => decision("a", why));
  assert.deepEqual(kept([...decisions, ...facts], 0, { bytesTarget: 4 * BYTES }), [...decisions.slice(2), ...facts]);
  assert.deepEqual(kept([...decisions, ...facts], 0, { bytesTarget: 0 }), [admitted("a")]);
});

const reported = (uid: string, on: string, reason: string, why: string): JournalRecord => ({
  kind: "told",
  ...of(uid),
  wallMs: 1,
  on,
  reason,
  why,
  times: 1,
});

void test("an unfinished UID keeps its admission and the newest event of each part and reason, whatever the size limit", () => {
  const admit = decisionRecord({ ...of("a"), wallMs: 1 }, { kind: "admit", containers: [] });
  const records = [
    reported("", "runtime", "RuntimeNotReady", "down"),
    admit,
    admitted("a"),
    reported("a", "app", "Failed", "first"),
    reported("a", "app", "Started", ""),
    reported("a", "app", "Failed", "second"),
    reported("a", "", "FailedMount", "no volume"),
    decision("a", "whatever"),
    admitted("b"),
    reported("b", "app", "Failed", "of the past"),
    finished("b"),
  ];
  const stays = [0, 1, 2, 4, 5, 6].flatMap((index) => records[index] ?? []);
  assert.deepEqual(kept(records, 0, { bytesTarget: 0 }), stays);
  assert.deepEqual(kept(records, 0, {}), records);
});

void test("a noisy pod keeps only its newest explanations, and another pod keeps its own", () => {
  const noisy = Array.from({ length: 500 }, (_, index) => reported("a", "app", "Failed", `${index}`));
  const left = kept([admitted("a"), ...noisy, decision("b", "quiet")], 0, { bytesTarget: 1000 * BYTES });
  assert.equal(left.filter(({ uid }) => uid === "a").length, 61);
  assert.deepEqual([left[1], left.at(-1)], [noisy[440], decision("b", "quiet")]);
});

void test("a finished UID is dropped when it is old and enough others finished after it", () => {
  const records = ["a", "b", "c"].flatMap((uid, index) => [admitted(uid), finished(uid, index * 1000)]);
  const after = (nowWallMs: number, finishedKeptMin: number) =>
    new Set(kept(records, nowWallMs, { finishedKeptMs: 1500, finishedKeptMin }).map(({ uid }) => uid));
  assert.deepEqual(after(1400, 0), new Set(["a", "b", "c"]));
  assert.deepEqual(after(2600, 0), new Set(["c"]));
  assert.deepEqual(after(2600, 2), new Set(["b", "c"]));
  assert.deepEqual(after(9e15, 1), new Set(["c"])); // The clock jumped: the newest stay all the same.
  assert.deepEqual(after(-9e15, 0), new Set(["a", "b", "c"]));
});

void test("over the size limit whole finished UIDs are dropped, oldest first, and unfinished ones are kept", () => {
  const records = [...["a", "b", "c"].flatMap((uid) => [admitted(uid), finished(uid)]), admitted("d")];
  const left = kept(records, 0, { bytesTarget: 5 * BYTES });
  assert.deepEqual(
    left.map(({ uid }) => uid),
    ["b", "b", "c", "c", "d"],
  );
});

void test("a crash loop keeps only its newest ten exits", () => {
  const loop = Array.from({ length: 500 }, (_, index) => exited("a", "app", `c${index}`));
  assert.equal(kept([admitted("a"), ...loop], 0, {}).length, 11);
});

void test("repeated probe results keep only the newest of each container", () => {
  const flips = Array.from({ length: 500 }, (_, index) =>
    probed("a", index % 2 ? "x" : "y", `c${index % 3}`, index % 5 > 2),
  );
  assert.equal(kept([admitted("a"), ...flips], 0, {}).length, 3);
});

void test("repeated termination failures keep only the newest record", () => {
  const tries = Array.from({ length: 100 }, (_, index) =>
    ending("a", index % 2 ? "containers" : "volumes", "failed", index),
  );
  assert.deepEqual(kept([admitted("a"), ...tries], 0, {}), [admitted("a"), tries.at(-1)]);
});

const uidArbitrary = fc.constantFrom("a", "b", "c");
const recordArbitrary: fc.Arbitrary<JournalRecord> = fc.oneof(
  uidArbitrary.map(admitted),
  uidArbitrary.map((uid) => finished(uid)),
  fc
    .tuple(uidArbitrary, fc.nat(60))
    .map(
      ([uid, graceSeconds]): JournalRecord => ({ kind: "terminating", ...of(uid), wallMs: 1, graceSeconds, why: "" }),
    ),
  fc.tuple(uidArbitrary, fc.constantFrom("x", "y"), fc.nat(30)).map(([uid, name, id]) => exited(uid, name, `c${id}`)),
  fc
    .tuple(uidArbitrary, fc.constantFrom("Succeeded", "Failed"))
    .map(([uid, phase]): JournalRecord => ({ kind: "terminal", ...of(uid), wallMs: 1, phase })),
  fc.tuple(uidArbitrary, fc.constantFrom("h1", "h2")).map(
    ([uid, contentHash]): JournalRecord => ({
      kind: "staticPod",
      ...of(uid),
      wallMs: 1,
      source: "s",
      contentHash,
      configHash: "",
    }),
  ),
  fc
    .tuple(uidArbitrary, fc.constantFrom("x", "y"), fc.nat(3), fc.boolean())
    .map(([uid, name, id, isReady]) => probed(uid, name, `c${id}`, isReady)),
  uidArbitrary.map((uid): JournalRecord => ({ kind: "restartingAll", ...of(uid), wallMs: 1 })),
  fc
    .tuple(uidArbitrary, fc.constantFrom("containers", "volumes"), fc.constantFrom("begun", "failed"), fc.nat(2))
    .map(([uid, step, state, attempts]) => ending(uid, step, state, attempts)),
  fc
    .tuple(uidArbitrary, fc.nat(4), fc.constantFrom("1", "2", "3"), fc.constantFrom({}, { x: { cpus: "2-3" } }))
    .map(([uid, generation, cpu, containers]): JournalRecord => {
      const resources = { containers: { x: { requests: { cpu } } } };
      return allocatedRecord({ ...of(uid), wallMs: 1 }, generation, { resources, containers });
    }),
  fc
    .tuple(uidArbitrary, fc.nat(4))
    .map(([uid, generation]): JournalRecord => ({ kind: "resized", ...of(uid), wallMs: 1, generation })),
  fc.tuple(uidArbitrary, fc.constantFrom("x", "y"), fc.nat(3)).map(
    ([uid, container, id]): JournalRecord => ({
      kind: "restartForResize",
      ...of(uid),
      wallMs: 1,
      container,
      containerId: `c${id}`,
    }),
  ),
  uidArbitrary.map((uid) => decision(uid, "")),
);

void test("compaction keeps the facts of every UID that it does not drop, and is idempotent", () => {
  fc.assert(
    fc.property(fc.array(recordArbitrary, { maxLength: 120 }), fc.nat(60), (drawn, room) => {
      // Nothing is actuated that was not allocated before.
      const records = drawn.filter(
        ({ kind, uid }, place) =>
          kind !== "resized" || drawn.slice(0, place).some((one) => one.kind === "allocated" && one.uid === uid),
      );
      const left = kept(records, 0, { bytesTarget: room * BYTES });
      const before = foldJournaledPods(records);
      const after = foldJournaledPods(left);
      for (const [uid, journaledPod] of before) {
        if (journaledPod.finishedWallMs === undefined || after.has(uid))
          assert.deepEqual(after.get(uid) ?? nothingKnown(journaledPod), journaledPod);
      }
      assert.deepEqual(kept(left, 0, { bytesTarget: room * BYTES }), left);
    }),
    { numRuns: 500 },
  );
});

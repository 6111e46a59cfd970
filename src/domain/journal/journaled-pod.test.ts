import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerAllocations } from "../allocation/pod-allocation.ts";
import { type ExitFact, foldJournaledPods, type JournaledPod, nothingKnown } from "./journaled-pod.ts";
import { parseJournalRecord } from "./parse-record.ts";
import { allocatedRecord, decisionRecord, type JournalRecord } from "./records.ts";

const common = { uid: "u", pod: "ns/p" };
const admitted = (wallMs: number): JournalRecord => ({ kind: "admitted", ...common, wallMs });
const rejected: JournalRecord = { kind: "rejected", ...common, wallMs: 5, reason: "OutOfcpu", message: "no room" };
const terminating = (wallMs: number, graceSeconds: number, why: string): JournalRecord => ({
  kind: "terminating",
  ...common,
  wallMs,
  graceSeconds,
  why,
});
const exit = (containerId: string, exitCode: number): ExitFact => ({
  wallMs: 7,
  containerId,
  exitCode,
  reason: "Error",
  startedWallNs: "1700000000123456789",
  finishedWallNs: "1700000001123456789",
  restartCount: 0,
});
const exited = (container: string, fact: ExitFact): JournalRecord => ({
  kind: "exited",
  ...common,
  container,
  ...fact,
});
const restartingAll: JournalRecord = { kind: "restartingAll", ...common, wallMs: 7 };
const ending = (step: "containers" | "volumes", state: "begun" | "failed", error: string): JournalRecord => ({
  kind: "ending",
  ...common,
  wallMs: 8,
  step,
  state,
  attempts: 2,
  error,
});
const verdicts = { startup: "success", liveness: "success", readiness: "failure" } as const;
const probed = (container: string, containerId: string, readiness: "success" | "failure"): JournalRecord => ({
  kind: "probed",
  ...common,
  wallMs: 8,
  container,
  containerId,
  ...verdicts,
  readiness,
});
const finished = (wallMs: number): JournalRecord => ({ kind: "finished", ...common, wallMs });
const staticPod = (contentHash: string): JournalRecord => ({
  kind: "staticPod",
  ...common,
  wallMs: 1,
  source: "file",
  contentHash,
  configHash: "c",
});
const amounts = (cpu: string) => ({ containers: { app: { requests: { cpu } } } });
const CPUS = { app: { cpus: "2-3" } };
const allocated = (generation: number, cpu: string, containers: ContainerAllocations = {}): JournalRecord =>
  allocatedRecord({ ...common, wallMs: generation }, generation, { resources: amounts(cpu), containers });
const decision = decisionRecord({ ...common, wallMs: 9 }, { kind: "defer", why: "WaitingForNode: not ready" });

const known = (fields: Partial<JournaledPod>): JournaledPod => ({ ...nothingKnown(common), ...fields });

for (const [name, records, wanted] of [
  [
    "[11.12] the last probe results of each container's newest instance are kept",
    [
      probed("a", "c1", "success"),
      probed("b", "c2", "success"),
      probed("a", "c3", "failure"),
      probed("a", "c3", "success"),
      probed("a", "c3", "success"),
    ],
    known({
      probed: new Map([
        ["a", { containerId: "c3", ...verdicts, readiness: "success" }],
        ["b", { containerId: "c2", ...verdicts, readiness: "success" }],
      ]),
    }),
  ],
  [
    "the first admission of a pod sets its start time, and later ones do not move it",
    [admitted(100), admitted(200)],
    known({ admission: { kind: "admitted" }, startWallMs: 100 }),
  ],
  [
    "a rejection is kept with its reason, also after an earlier admission",
    [admitted(1), rejected],
    known({ admission: { kind: "rejected", reason: "OutOfcpu", message: "no room" }, startWallMs: 1 }),
  ],
  [
    "the grace period only decreases and counts from its own request; the first cause is kept",
    [terminating(10, 30, "deleted"), terminating(20, 60, "again"), terminating(25, 5, "evicted")],
    known({ terminating: { sinceWallMs: 10, why: "deleted", graceSeconds: 5, graceSinceWallMs: 25 } }),
  ],
  [
    "exits are kept by container, oldest first, and a repeated record counts once",
    [exited("a", exit("c1", 1)), exited("b", exit("c2", 0)), exited("a", exit("c1", 1)), exited("a", exit("c3", 137))],
    known({
      exits: new Map([
        ["a", [exit("c1", 1), exit("c3", 137)]],
        ["b", [exit("c2", 0)]],
      ]),
    }),
  ],
  [
    "a restart of all containers resets the exits before it, and none after it",
    [exited("a", exit("c1", 42)), restartingAll, exited("a", exit("c2", 1)), exited("b", exit("c3", 0))],
    known({
      exits: new Map([
        ["a", [exit("c1", 42), exit("c2", 1)]],
        ["b", [exit("c3", 0)]],
      ]),
      resets: new Set(["c1"]),
    }),
  ],
  [
    "the last record of termination progress is kept",
    [ending("containers", "begun", ""), ending("volumes", "begun", ""), ending("volumes", "failed", "busy")],
    known({ ending: { step: "volumes", state: "failed", attempts: 2, error: "busy" } }),
  ],
  [
    "containers' exclusive resources are those of the last allocation",
    [allocated(1, "1"), allocated(1, "1", CPUS), allocated(2, "2", CPUS)],
    known({
      allocated: {
        allocation: amounts("2"),
        containerAllocations: CPUS,
        generation: 2,
        wallMs: 2,
        actuated: amounts("1"),
        isForeign: false,
      },
    }),
  ],
  [
    "a repeated allocation changes nothing, and one without exclusive resources removes them",
    [allocated(1, "1", CPUS), allocated(1, "1", { app: { cpus: "2-3" } }), allocated(1, "1000m")],
    known({
      allocated: {
        allocation: amounts("1000m"),
        generation: 1,
        wallMs: 1,
        actuated: amounts("1000m"),
        isForeign: false,
      },
    }),
  ],
  [
    "the first terminal phase and the first finish time are final",
    [
      { kind: "terminal", ...common, wallMs: 1, phase: "Failed" },
      { kind: "terminal", ...common, wallMs: 2, phase: "Succeeded" },
      finished(3),
      finished(4),
    ],
    known({ terminalPhase: "Failed", finishedWallMs: 3 }),
  ],
  [
    "a static pod that returns starts without its earlier records and keeps its identity",
    [
      staticPod("h1"),
      staticPod("h2"),
      admitted(1),
      terminating(2, 30, "removed"),
      exited("a", exit("c1", 0)),
      finished(3),
      admitted(9),
    ],
    known({
      admission: { kind: "admitted" },
      startWallMs: 9,
      staticPod: { source: "file", contentHash: "h2", configHash: "c" },
    }),
  ],
] as const satisfies readonly (readonly [string, readonly JournalRecord[], JournaledPod])[]) {
  void test(`journaled pods: ${name}`, () => assert.deepEqual([...foldJournaledPods(records).values()], [wanted]));
}

void test("journaled pods: a crash loop keeps the newest ten exits of its container", () => {
  const records = Array.from({ length: 1000 }, (_, index) => exited("a", exit(`c${index}`, 1)));
  const ids = foldJournaledPods(records)
    .get("u")
    ?.exits.get("a")
    ?.map(({ containerId }) => containerId);
  assert.deepEqual(
    ids,
    Array.from({ length: 10 }, (_, index) => `c${990 + index}`),
  );
});

void test("journaled pods: a decision changes nothing", () => assert.equal(foldJournaledPods([decision]).size, 0));

void test("a record with a missing field, a field of another type or an unknown kind is refused", () => {
  const whole = [
    admitted(1),
    rejected,
    terminating(1, 2, ""),
    exited("a", exit("c", 0)),
    finished(1),
    staticPod("h"),
    restartingAll,
    ending("volumes", "failed", "busy"),
    decision,
  ];
  for (const record of whole) {
    assert.deepEqual(parseJournalRecord(JSON.parse(JSON.stringify(record))), record);
    for (const field of Object.keys(record)) {
      assert.equal(parseJournalRecord({ ...record, [field]: undefined }), undefined, field);
      assert.equal(parseJournalRecord({ ...record, [field]: [] }), undefined, field);
    }
  }
  assert.equal(parseJournalRecord({ kind: "terminal", ...common, wallMs: 1, phase: "Running" }), undefined);
  assert.deepEqual(parseJournalRecord(allocated(1, "1", CPUS)), allocated(1, "1", CPUS));
  assert.equal(parseJournalRecord({ ...allocated(1, "1"), containerAllocations: { app: { cpus: 2 } } }), undefined);
  for (const odd of [null, 7, "admitted", [], { kind: "toString" }, { kind: "__proto__" }]) {
    assert.equal(parseJournalRecord(odd), undefined);
  }
});

void test("an allocation without exclusive resources is written without containerAllocations", () => {
  assert.equal(
    JSON.stringify(allocated(1, "1")),
    '{"kind":"allocated","uid":"u","pod":"ns/p","wallMs":1,"generation":1,"allocation":{"containers":{"app":{"requests":{"cpu":"1"}}}}}',
  );
});

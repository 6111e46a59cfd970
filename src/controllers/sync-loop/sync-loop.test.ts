/**
 * Tests the allocation of pods between admission and publication. The simulator tests the rest of the loop
 * (`sim/admission.test.ts`).
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { admissionContext } from "../../../test/support/admission-context.ts";
import { FakeCpuAllocator } from "../../../test/support/fake-cpu-allocator.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { container, pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import type { Pod } from "../../api/gen/core-v1.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { type PodAllocation, withContainerAllocation } from "../../domain/allocation/pod-allocation.ts";
import { foldJournaledPods, type JournaledPod } from "../../domain/journal/journaled-pod.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { type DesiredPods, noPods } from "../../domain/pod/desired-pod.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import { CONFIG_SOURCE } from "../../domain/pod/pod-identity.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { emptyOutcome, type PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { AllocationOutcome, PodAllocator } from "./allocation.ts";
import { SyncLoop } from "./sync-loop.ts";

const NODE = admissionContext(
  { metadata: { name: "n1" }, status: { allocatable: { cpu: "4", memory: "8Gi", pods: "110" } } },
  { volumeSources: new Set() },
);

/** Smaller ages make older pods. */
const asking = (uid: string, cpu: string, age = 0, generation = 1): Pod =>
  pod(
    { containers: [container("app", { resources: { requests: { cpu } } })] },
    { name: uid, uid, generation, creationTimestamp: new Date(age * 1000).toISOString() },
  );

const ENDED = { kind: "terminated", why: { kind: "removed" } } as const satisfies PodLifecycle;

interface Setting {
  readonly allocators?: readonly PodAllocator[];
  readonly journal?: readonly JournalRecord[];
  readonly append?: (record: JournalRecord) => Promise<void>;
}

function world({ allocators, journal = [], append = () => Promise.resolve() }: Setting = {}) {
  const clock = new ManualClock();
  const log = keptLog();
  const records: JournalRecord[] = [];
  const journaledPods: ReadonlyMap<string, JournaledPod> = foldJournaledPods(journal);
  const admittedPods = new LatestTable<string, AdmittedPod>();
  const podOutcomes = new LatestTable<string, PodOutcome>();
  const desiredPods = new LatestCell<DesiredPods>(noPods);
  const cpus = new FakeCpuAllocator({ sets: ["0-1", "2-3"], admittedPods, journaledPods });
  const end = new AbortController();
  let turns = 0;
  const loop = new SyncLoop({
    journal: {
      replay: () => Promise.resolve([]),
      append: async (record) => {
        await append(record);
        records.push(record);
      },
      note: () => {},
    },
    events: { emit: () => {} },
    clock,
    log,
    desiredPods,
    podRuntimeStatus: new LatestTable<string, PodRuntimeView>(),
    listedSandboxes: new LatestCell<readonly Sandbox[] | undefined>([]),
    podOutcomes,
    admittedPods,
    endRequests: new LatestTable<string, EndRequest>(),
    preemptions: new LatestTable<string, EndRequest>(),
    sourcesReady: new LatestCell(false),
    journaledPods,
    allocators: allocators ?? [cpus],
    context: { awaited: [], read: async () => NODE, fetchNode: async () => undefined },
    undecidedPods: { kind: "wait" },
    declaredFeatures: undefined,
    resize: { cpuManagerPolicy: "none", memoryManagerPolicy: "None", limitedSwap: false, podLevelResizes: true },
    heartbeat: { beat: () => void (turns += 1) },
  });
  const running = loop.run(end.signal);
  const containersOf = (uid: string) => {
    const verdict = admittedPods.get(uid)?.verdict;
    return verdict?.kind === "admitted" ? verdict.allocation.containers : verdict?.kind;
  };
  return {
    clock,
    log,
    cpus,
    admittedPods,
    podOutcomes,
    containersOf,
    kinds: () => records.map(({ kind, uid }) => `${kind} ${uid}`),
    records,
    turns: () => turns,
    desire: async (...wanted: readonly Pod[]) => {
      const pods = wanted.map((each) => {
        const uid = each.metadata?.uid ?? "";
        return [uid, { uid, source: "api", pod: each, given: each, firstSeenWallMs: 0 }] as const;
      });
      desiredPods.set({ ...noPods, pods: new Map(pods), sourcesReady: true });
      await clock.advance(1);
    },
    /** The manifest directory has only this static pod. */
    place: async (given: Pod, incarnation: number, sourcesReady = true) => {
      const annotations = { [CONFIG_SOURCE]: "file" };
      const pod = { ...given, metadata: { ...given.metadata, annotations } };
      const uid = given.metadata?.uid ?? "";
      const desired = { uid, source: "file", pod, given, incarnation, firstSeenWallMs: incarnation } as const;
      desiredPods.set({ ...noPods, pods: new Map([[uid, desired]]), sourcesReady });
      await clock.advance(1);
    },
    forget: async (uid: string) => {
      podOutcomes.delete(uid);
      await clock.advance(1);
    },
    lives: async (uid: string, lifecycle: PodLifecycle) => {
      podOutcomes.set(uid, { ...emptyOutcome(uid), lifecycle });
      await clock.advance(1);
    },
    stop: async () => {
      end.abort(new Error("shutdown"));
      await running;
    },
  };
}

test("[6.8] a static pod whose manifest was removed and written again is admitted again once its worker has finished", async () => {
  const { place, lives, forget, admittedPods, kinds, stop } = world({ allocators: [] });
  const pod = asking("a", "1");
  await place(pod, 1);
  await lives("a", { kind: "running" });
  await place(pod, 2);
  assert.equal(admittedPods.get("a"), undefined);
  await lives("a", { kind: "terminated", why: { kind: "removed" } });
  await place(pod, 3);
  assert.equal(admittedPods.get("a"), undefined);
  assert.deepEqual(kinds(), ["admitted a", "allocated a"]);
  await forget("a");
  const { incarnation, firstSeenWallMs } = admittedPods.get("a") ?? {};
  assert.deepEqual([incarnation, firstSeenWallMs], [3, 3]);
  assert.deepEqual(kinds(), ["admitted a", "allocated a", "admitted a", "allocated a"]);
  await stop();
});

test("[6.8] a static pod that returns while the runtime still lists its parts is admitted when it is finished", async () => {
  const { place, lives, admittedPods, stop } = world({ allocators: [] });
  const pod = asking("a", "1");
  await place(pod, 1);
  await lives("a", { kind: "terminating", graceSeconds: 1, sinceMonotonicMs: 0, why: { kind: "removed" } });
  await place(pod, 2);
  assert.equal(admittedPods.get("a"), undefined);
  await lives("a", { kind: "finished", why: { kind: "removed" } });
  assert.equal(admittedPods.get("a")?.incarnation, 2);
  await stop();
});

test("[4.9] a manifest that is written again before all sources are ready does not restart its pod, then or later", async () => {
  const { place, lives, admittedPods, stop } = world({ allocators: [] });
  const pod = asking("a", "1");
  await place(pod, 1, false);
  await lives("a", { kind: "running" });
  await place(pod, 2, false);
  assert.equal(admittedPods.get("a")?.incarnation, 2);
  await place(pod, 2);
  assert.equal(admittedPods.get("a")?.incarnation, 2);
  await stop();
});

/** An allocator that responds when the test says so. */
function slow() {
  const waiting: { readonly name: string; readonly answer: (outcome?: AllocationOutcome) => void }[] = [];
  const allocator: PodAllocator = {
    name: "slow",
    allocate: ({ metadata }, soFar) =>
      new Promise((resolve) => {
        const allocated = {
          kind: "allocated",
          allocation: withContainerAllocation(soFar, "app", { cpus: "2-3" }),
        } as const;
        waiting.push({ name: metadata?.name ?? "", answer: (outcome = allocated) => resolve(outcome) });
      }),
    release: () => {},
  };
  return { allocator, waiting };
}

test("without allocators a pod is admitted with its spec's requests, and its allocated record has no other part", async () => {
  const { desire, admittedPods, records, stop } = world({ allocators: [] });
  await desire(asking("a", "1"));
  const resources = { containers: { app: { requests: { cpu: "1" } } } };
  assert.deepEqual(admittedPods.get("a")?.verdict, { kind: "admitted", allocation: { resources, containers: {} } });
  assert.deepEqual(records, [
    { kind: "admitted", uid: "a", pod: "default/a", wallMs: 0 },
    { kind: "allocated", uid: "a", pod: "default/a", wallMs: 0, generation: 1, allocation: resources },
  ]);
  await stop();
});

test("a pod is journaled after all allocators have answered, and published after its allocation is journaled", async () => {
  const written = Promise.withResolvers<void>();
  const { allocator, waiting } = slow();
  const { clock, desire, admittedPods, containersOf, records, kinds, stop } = world({
    allocators: [allocator],
    append: ({ kind }) => (kind === "allocated" ? written.promise : Promise.resolve()),
  });
  await desire(asking("a", "1"));
  assert.deepEqual([waiting.length, admittedPods.size, kinds()], [1, 0, []]);
  waiting[0]?.answer();
  await clock.advance(1);
  assert.deepEqual([admittedPods.size, kinds()], [0, ["admitted a"]]);
  written.resolve();
  await clock.advance(1);
  assert.deepEqual(containersOf("a"), { app: { cpus: "2-3" } });
  const [record] = records.filter(({ kind }) => kind === "allocated");
  assert.deepEqual(record?.kind === "allocated" && record.containerAllocations, { app: { cpus: "2-3" } });
  await stop();
});

test("pods of one turn are allocated one by one, oldest first, with a heartbeat before each", async () => {
  const { allocator, waiting } = slow();
  const { clock, desire, admittedPods, turns, stop } = world({ allocators: [allocator] });
  const before = turns();
  await desire(asking("young", "1", 2), asking("old", "1", 1));
  assert.deepEqual([waiting.map(({ name }) => name), admittedPods.keys()], [["old"], []]);
  waiting[0]?.answer();
  await clock.advance(1);
  assert.deepEqual([waiting.map(({ name }) => name), admittedPods.keys()], [["old", "young"], ["old"]]);
  waiting[1]?.answer();
  await clock.advance(1);
  assert.deepEqual(admittedPods.keys(), ["old", "young"]);
  assert.equal(turns() - before, 3);
  await stop();
});

const ALLOCATED_BEFORE: readonly JournalRecord[] = [
  { kind: "admitted", uid: "a", pod: "default/a", wallMs: 0 },
  {
    kind: "allocated",
    uid: "a",
    pod: "default/a",
    wallMs: 0,
    generation: 1,
    allocation: { containers: { app: { requests: { cpu: "1" } } } },
    containerAllocations: { app: { cpus: "0-1" } },
  },
];

test("a pod keeps a previous process's allocation without a new call, and no other pod gets it", async () => {
  const { desire, cpus, containersOf, kinds, stop } = world({ journal: ALLOCATED_BEFORE });
  await desire(asking("b", "1"), asking("a", "1", 1));
  assert.deepEqual([containersOf("a"), containersOf("b")], [{ app: { cpus: "0-1" } }, { app: { cpus: "2-3" } }]);
  assert.deepEqual(cpus.calls, ["allocate b"]);
  assert.deepEqual(kinds(), ["admitted b", "allocated b"]);
  await stop();
});

test("a previous process's allocation of a pod that no source has named yet is kept until all sources are ready", async () => {
  const { desire, cpus, containersOf, stop } = world({ journal: ALLOCATED_BEFORE });
  await desire(asking("b", "1"));
  assert.deepEqual(containersOf("b"), { app: { cpus: "2-3" } });
  await desire(asking("b", "1"), asking("c", "1"));
  assert.deepEqual(containersOf("c"), { app: { cpus: "0-1" } });
  await desire(asking("a", "1"), asking("b", "1"), asking("c", "1"));
  assert.equal(containersOf("a"), "rejected", "its CPUs belong to another pod");
  assert.deepEqual(cpus.calls, ["allocate b", "release a", "allocate c", "allocate a"]);
  await stop();
});

test("a pod that a previous process admitted without an allocated record is allocated", async () => {
  const { desire, cpus, containersOf, stop } = world({ journal: ALLOCATED_BEFORE.slice(0, 1) });
  await desire(asking("a", "1"));
  assert.deepEqual([cpus.calls, containersOf("a")], [["allocate a"], { app: { cpus: "0-1" } }]);
  await stop();
});

const refuses = (kind: "rejected" | "deferred", times: number): PodAllocator & { readonly asked: string[] } => {
  const asked: string[] = [];
  const rejection = { reason: "OutOfdevices", message: "no device is left" };
  const deferral = { reason: "WaitingForDevices", message: "no device is left" } as const;
  return {
    name: "refuses",
    asked,
    allocate: async ({ metadata }: Pod, allocation: PodAllocation): Promise<AllocationOutcome> => {
      asked.push(metadata?.name ?? "");
      if (metadata?.name !== "a" || asked.length > times) return { kind: "allocated", allocation };
      return kind === "rejected" ? { kind, rejection } : { kind, deferral };
    },
    release: () => {},
  };
};

test("a pod that an allocator rejects has the allocator's reason, and the next pod gets its resources", async () => {
  const allocator = refuses("rejected", 1);
  const { desire, admittedPods, containersOf, kinds, stop } = world({ allocators: [allocator] });
  await desire(asking("a", "3", 1), asking("b", "3", 2), asking("c", "3", 3));
  assert.deepEqual(admittedPods.get("a")?.verdict, {
    kind: "rejected",
    rejection: { reason: "OutOfdevices", message: "no device is left" },
  });
  assert.deepEqual([containersOf("b"), containersOf("c")], [{}, "rejected"]);
  assert.deepEqual(kinds(), ["rejected a", "admitted b", "allocated b", "rejected c"]);
  assert.deepEqual(allocator.asked, ["a", "b"]);
  await stop();
});

test("a pod that an allocator defers publishes the reason and is allocated again at the next turn", async () => {
  const allocator = refuses("deferred", 2);
  const { desire, admittedPods, containersOf, kinds, stop } = world({ allocators: [allocator] });
  await desire(asking("a", "1"));
  assert.deepEqual(admittedPods.get("a")?.verdict, {
    kind: "deferred",
    deferral: { reason: "WaitingForDevices", message: "no device is left" },
  });
  await desire(asking("a", "1"), asking("b", "1"));
  assert.deepEqual([containersOf("a"), kinds()], ["deferred", ["admitted b", "allocated b"]]);
  await desire(asking("a", "1"), asking("b", "1"), asking("c", "1"));
  assert.deepEqual(containersOf("a"), {});
  await stop();
});

test("an allocation that cannot be journaled is released, and made again once the journal can be written", async () => {
  let fails = true;
  const { clock, desire, cpus, containersOf, stop } = world({
    append: () => (fails ? Promise.reject(new Error("disk full")) : Promise.resolve()),
  });
  await desire(asking("a", "1"));
  assert.deepEqual([cpus.calls, containersOf("a")], [["allocate a", "release a"], undefined]);
  fails = false;
  await clock.advance(1_000);
  assert.deepEqual(cpus.calls, ["allocate a", "release a", "allocate a"]);
  assert.deepEqual(containersOf("a"), { app: { cpus: "0-1" } });
  await stop();
});

test("an allocation is released once, when the pod's worker has terminated it, and the next pod gets it", async () => {
  const { desire, lives, cpus, containersOf, podOutcomes, stop } = world();
  const [a, b] = [asking("a", "1"), asking("b", "1")];
  await desire(a, b);
  await lives("a", { kind: "running" });
  await desire(b);
  assert.deepEqual(cpus.calls, ["allocate a", "allocate b"], "the pod left its source and still runs");
  await lives("a", ENDED);
  assert.deepEqual(cpus.calls.slice(2), ["release a"]);
  podOutcomes.delete("a");
  await desire(b, asking("c", "1"));
  assert.deepEqual([cpus.calls.slice(2), containersOf("c")], [["release a", "allocate c"], { app: { cpus: "0-1" } }]);
  await stop();
});

test("a completed pod's allocation is released once", async () => {
  const { desire, lives, cpus, stop } = world();
  await desire(asking("a", "1"));
  await lives("a", { kind: "terminated", why: { kind: "completed" } });
  await lives("a", { kind: "finished", why: { kind: "completed" } });
  await desire();
  assert.deepEqual(cpus.calls, ["allocate a", "release a"]);
  await stop();
});

test("the allocation of a pod that leaves before its worker has started is released", async () => {
  const { desire, cpus, stop } = world();
  await desire(asking("a", "1"));
  await desire();
  assert.deepEqual(cpus.calls, ["allocate a", "release a"]);
  await stop();
});

for (const [whose, journal, first] of [
  ["this process", [], ["allocate a"]],
  ["a previous process", ALLOCATED_BEFORE, []],
] as const)
  test(`a returning static pod that ${whose} allocated is allocated again once its previous instance has ended`, async () => {
    const { desire, lives, clock, cpus, podOutcomes, containersOf, stop } = world({ journal });
    await desire(asking("a", "1"));
    await lives("a", { kind: "running" });
    await desire();
    await desire(asking("a", "1"));
    assert.deepEqual([cpus.calls, containersOf("a")], [first, undefined]);
    await lives("a", ENDED);
    assert.deepEqual([cpus.calls, containersOf("a")], [[...first, "release a"], undefined]);
    podOutcomes.delete("a");
    await clock.advance(1);
    assert.deepEqual(cpus.calls, [...first, "release a", "allocate a"]);
    assert.deepEqual(containersOf("a"), { app: { cpus: "0-1" } });
    await stop();
  });

test("a resize keeps the containers' exclusive allocations, also in the journal", async () => {
  const { desire, lives, admittedPods, records, stop } = world();
  await desire(asking("a", "1"));
  await lives("a", { kind: "running" });
  await desire(asking("a", "2", 0, 2));
  const allocation = {
    resources: { containers: { app: { requests: { cpu: "2" } } } },
    containers: { app: { cpus: "0-1" } },
  };
  assert.deepEqual(admittedPods.get("a")?.verdict, { kind: "admitted", allocation });
  const last = records.at(-1);
  assert.deepEqual(last?.kind === "allocated" && [last.generation, last.allocation, last.containerAllocations], [
    2,
    allocation.resources,
    allocation.containers,
  ]);
  await desire(asking("a", "9", 0, 3));
  const { pod: has, verdict } = admittedPods.get("a") ?? assert.fail();
  assert.deepEqual(
    [verdict, has.spec?.containers[0]?.resources],
    [{ kind: "admitted", allocation }, { requests: { cpu: "2" } }],
  );
  await stop();
});

test("a shutdown during an allocation leaves the pod without a verdict", async () => {
  const { allocator, waiting } = slow();
  const { desire, admittedPods, kinds, log, stop } = world({ allocators: [allocator] });
  await desire(asking("a", "1"));
  assert.equal(waiting.length, 1);
  await stop();
  waiting[0]?.answer();
  assert.deepEqual([admittedPods.size, kinds(), log.lines], [0, [], []]);
});

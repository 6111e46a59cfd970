import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { pod } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { type PodAllocation, specAllocation, withContainerAllocation } from "../../domain/allocation/pod-allocation.ts";
import { type JournaledPod, nothingKnown } from "../../domain/journal/journaled-pod.ts";
import { type AllocationOutcome, AllocationStage, type PodAllocator } from "./allocation.ts";

const POD = pod({}, { uid: "u" });
const GIVEN = specAllocation(POD);
const DEFERRED = {
  kind: "deferred",
  deferral: { reason: "WaitingForDevices", message: "no plugin has registered example.com/a" },
} as const;
const REJECTED = {
  kind: "rejected",
  rejection: { reason: "TopologyAffinityError", message: "Resources cannot be allocated with Topology locality" },
} as const;

const withCpus = (soFar: PodAllocation): AllocationOutcome => ({
  kind: "allocated",
  allocation: withContainerAllocation(soFar, "app", { cpus: "2-3" }),
});
const withDevice = (soFar: PodAllocation): AllocationOutcome => ({
  kind: "allocated",
  allocation: withContainerAllocation(soFar, "app", { devices: [{ resource: "example.com/a", ids: ["0"] }] }),
});

function stage(
  answers: Readonly<Record<string, (soFar: PodAllocation) => AllocationOutcome | Promise<AllocationOutcome>>>,
  journaledPods: ReadonlyMap<string, JournaledPod> = new Map(),
) {
  const calls: string[] = [];
  const seen: PodAllocation[] = [];
  const log = keptLog();
  const allocators = Object.entries(answers).map(
    ([name, answer]): PodAllocator => ({
      name,
      allocate: async (_pod, soFar) => {
        calls.push(`${name} allocates`);
        seen.push(soFar);
        return answer(soFar);
      },
      release: (uid) => void calls.push(`${name} releases ${uid}`),
    }),
  );
  return {
    stage: new AllocationStage({ allocators, journaledPods, log }),
    calls,
    seen,
    log,
    end: new AbortController(),
  };
}

test("allocators run in order, and each sees the allocations before it", async () => {
  const { stage: all, calls, seen, end } = stage({ cpus: withCpus, devices: withDevice });
  const verdict = await all.allocate(POD, GIVEN, end.signal);
  const cpus = withContainerAllocation(GIVEN, "app", { cpus: "2-3" });
  assert.deepEqual(seen, [GIVEN, cpus]);
  assert.deepEqual(calls, ["cpus allocates", "devices allocates"]);
  assert.deepEqual(verdict, {
    kind: "admitted",
    allocation: withContainerAllocation(cpus, "app", { devices: [{ resource: "example.com/a", ids: ["0"] }] }),
  });
});

for (const [what, outcome] of [
  ["a rejection", REJECTED],
  ["a deferral", DEFERRED],
] as const) {
  test(`${what} is the verdict, and the allocators before it release their allocations`, async () => {
    const {
      stage: all,
      calls,
      end,
    } = stage({ cpus: withCpus, devices: withDevice, last: () => outcome, none: withCpus });
    assert.deepEqual(await all.allocate(POD, GIVEN, end.signal), outcome);
    assert.deepEqual(calls, [
      "cpus allocates",
      "devices allocates",
      "last allocates",
      "devices releases u",
      "cpus releases u",
    ]);
    assert.equal(all.has("u"), false);
  });
}

test("an allocator that throws rejects the pod with UnexpectedAdmissionError", async () => {
  const {
    stage: all,
    calls,
    log,
    end,
  } = stage({
    cpus: withCpus,
    devices: () => Promise.reject(new Error("rpc error: no device")),
  });
  assert.deepEqual(await all.allocate(POD, GIVEN, end.signal), {
    kind: "rejected",
    rejection: {
      reason: "UnexpectedAdmissionError",
      message: "Allocate failed due to rpc error: no device, which is unexpected",
    },
  });
  assert.deepEqual(calls.at(-1), "cpus releases u");
  const fields = '{"pod":"default/p","podUID":"u","allocator":"devices"}';
  assert.deepEqual(log.lines, [`E Failed to allocate resources to a pod: rpc error: no device ${fields}`]);
});

test("a shutdown ends the stage without a verdict, even if the allocator ignores the signal", async () => {
  const {
    stage: all,
    calls,
    log,
    end,
  } = stage({ cpus: withCpus, devices: () => new Promise(() => {}), last: withCpus });
  const verdict = all.allocate(POD, GIVEN, end.signal);
  await new ManualClock().advance(0);
  const reason = new Error("shutdown");
  end.abort(reason);
  await assert.rejects(verdict, reason);
  assert.deepEqual([calls, log.lines, all.has("u")], [["cpus allocates", "devices allocates"], [], false]);
});

test("an allocation is released once, when the pod no longer needs it", async () => {
  const { stage: all, calls, end } = stage({ cpus: withCpus, devices: withDevice });
  await all.allocate(POD, GIVEN, end.signal);
  calls.length = 0;
  all.releaseWhere(() => false);
  assert.deepEqual(calls, []);
  all.releaseWhere(() => true);
  all.releaseWhere(() => true);
  assert.deepEqual(calls, ["devices releases u", "cpus releases u"]);
});

test("a previous process's allocation of a pod that has not finished is released once", () => {
  const { resources } = GIVEN;
  const allocated = { allocation: resources, generation: 1, wallMs: 0, actuated: resources, isForeign: false };
  const admission = { kind: "admitted" } as const;
  const known = (uid: string, fields: Partial<JournaledPod>) =>
    [uid, { ...nothingKnown({ uid, pod: "" }), admission, ...fields }] as const;
  const journaledPods = new Map([
    known("runs", { allocated }),
    known("finished", { allocated, finishedWallMs: 1 }),
    known("rejected", { allocated, admission: { kind: "rejected", reason: "OutOfcpu", message: "" } }),
    known("unallocated", {}),
  ]);
  const { stage: all, calls } = stage({ cpus: withCpus }, journaledPods);
  all.releaseWhere(() => true);
  assert.deepEqual(calls, ["cpus releases runs"]);
  assert.equal(stage({}, journaledPods).stage.has("runs"), false);
});

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { FakeFiles } from "../../../sim/fake-files.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { admittedVerdict, instance, pod, sandbox, view } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import {
  NO_RECLAIM_REQUESTS,
  NOTHING_RECLAIMED,
  type ReclaimReport,
  type ReclaimRequests,
} from "../../domain/eviction/reclaim.ts";
import type { ContainerGcPolicy } from "../../domain/housekeeping/container-gc.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { type DesiredPods, noPods } from "../../domain/pod/desired-pod.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { emptyOutcome, type PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { noTracer } from "../../ports/tracer.ts";
import { collectContainers } from "./container-gc.ts";

const LIMITS: ContainerGcPolicy = { ageMsMin: 0, perContainerMax: 1, nodeMax: -1 };
const RUNNING: PodLifecycle = { kind: "running" };
const COMPLETED: PodLifecycle = { kind: "finished", why: { kind: "completed" } };
const EVICTED: PodLifecycle = { kind: "finished", why: { kind: "failed", reason: "Evicted", message: "" } };

/** The loop, with a runtime that removes from `podRuntimeStatus` what it is required to. */
function world(policy: Partial<ContainerGcPolicy> = {}) {
  const clock = new ManualClock();
  const end = new AbortController();
  const removed: string[] = [];
  const emitted: string[] = [];
  const cells = {
    admittedPods: new LatestTable<string, AdmittedPod>(),
    desiredPods: new LatestCell<DesiredPods>(noPods),
    podOutcomes: new LatestTable<string, PodOutcome>(),
    podRuntimeStatus: new LatestTable<string, PodRuntimeView>(),
    sourcesReady: new LatestCell(true),
    reclaimRequests: new LatestCell<ReclaimRequests>(NO_RECLAIM_REQUESTS),
    containersReclaimed: new LatestCell<ReclaimReport>(NOTHING_RECLAIMED),
  };
  /** What a removal does before it succeeds. */
  const runtime = { before: (_id: string): Promise<void> => Promise.resolve() };
  const remove = async (id: string): Promise<void> => {
    await runtime.before(id);
    removed.push(id);
  };
  const inspect = async (uid: string): Promise<PodRuntimeView> => {
    const known = cells.podRuntimeStatus.get(uid) ?? view([], []);
    const left = {
      ...known,
      containers: known.containers.filter(({ id }) => !removed.includes(id)),
      sandboxes: known.sandboxes.filter(({ id }) => !removed.includes(id)),
    };
    cells.podRuntimeStatus.set(uid, left);
    return left;
  };
  const add = (seen: PodRuntimeView, lifecycle: PodLifecycle) => {
    const { uid } = seen;
    const verdict = admittedVerdict(pod());
    cells.admittedPods.set(uid, { uid, pod: pod(), isStatic: false, firstSeenWallMs: 0, verdict });
    cells.podOutcomes.set(uid, { ...emptyOutcome(uid), lifecycle, view: seen });
    cells.podRuntimeStatus.set(uid, seen);
  };
  const running = collectContainers(
    {
      ...cells,
      runtime: { removeContainer: remove, removeSandbox: remove },
      files: new FakeFiles({ clock }).port,
      clock,
      tracer: noTracer,
      log: keptLog(),
      events: {
        emit: ({ kind, name }, type, reason, message) =>
          void emitted.push([kind, name, type, reason, message].join(" ")),
      },
      nodeName: "n1",
      policy: { ...LIMITS, ...policy },
      containerLogLinks: "/links",
      inspect,
    },
    end.signal,
  );
  const stop = async () => {
    end.abort(new Error("over"));
    await running;
  };
  const request = (containers: number) => cells.reclaimRequests.set({ ...NO_RECLAIM_REQUESTS, containers });
  return { clock, cells, runtime, removed, emitted, add, request, stop };
}

const gone = { state: "notReady", ips: [] } as const;

/** A pod whose only container has run this often and is dead. */
const deadPod = (uid: string, runs: number): PodRuntimeView => ({
  ...view(
    [{ ...sandbox(gone), id: `${uid}-sandbox` }],
    Array.from({ length: runs }, (_, restartCount) => ({
      ...instance("app", "exited", { restartCount, sandboxId: `${uid}-sandbox` }),
      id: `${uid}-${restartCount}`,
      createdWallNs: BigInt(restartCount),
    })),
  ),
  uid,
});

void suite("container garbage collection", () => {
  test("[19.1] dead containers are collected when observed and every minute; a failure emits ContainerGCFailed", async () => {
    const { clock, runtime, removed, emitted, add, stop } = world();
    const trouble = new RuntimeError("RemoveContainer", "unknown", "device is busy");
    runtime.before = () => Promise.reject(trouble);
    add(deadPod("a", 3), RUNNING);
    await clock.advance(0);
    assert.deepEqual([...new Set(emitted)], [`Node n1 Warning ContainerGCFailed ${trouble.message}`]);
    assert.match(trouble.message, /device is busy/);
    runtime.before = () => Promise.resolve();
    await clock.advance(60_000);
    assert.deepEqual(removed, ["a-0", "a-1"]);
    await stop();
  });

  test("[19.1] containers of a completed pod are collected as soon as the pod is deleted", async () => {
    const { clock, cells, removed, add, stop } = world();
    add(deadPod("a", 1), COMPLETED);
    await clock.advance(1_000);
    assert.deepEqual(removed, []);
    cells.admittedPods.delete("a");
    await clock.advance(0);
    assert.deepEqual(removed, ["a-0", "a-sandbox"]);
    await stop();
  });

  test("[6.8] dead containers of a static pod that its source has again stay until the pod is admitted again", async () => {
    const { clock, cells, removed, add, stop } = world();
    add(deadPod("a", 1), RUNNING);
    const desired = { uid: "a", source: "file", pod: pod(), given: pod(), firstSeenWallMs: 0 } as const;
    cells.desiredPods.set({ ...noPods, pods: new Map([["a", desired]]) });
    cells.admittedPods.delete("a");
    cells.podOutcomes.set("a", { ...emptyOutcome("a"), lifecycle: { kind: "finished", why: { kind: "removed" } } });
    await clock.advance(60_000);
    assert.deepEqual(removed, []);
    cells.desiredPods.set(noPods);
    await clock.advance(60_000);
    assert.deepEqual(removed, ["a-0", "a-sandbox"]);
    await stop();
  });

  test("[19.1] [7.24] an evicted pod loses its containers and its sandbox at once, although it still exists", async () => {
    const { clock, removed, add, stop } = world();
    add(deadPod("a", 1), EVICTED);
    await clock.advance(0);
    assert.deepEqual(removed, ["a-0", "a-sandbox"]);
    await stop();
  });

  test("[19.10] two dead instances are kept at once; the limit of the node is applied every minute", async () => {
    const { clock, removed, add, stop } = world({ perContainerMax: 2, nodeMax: 2 });
    await clock.advance(1_000);
    add(deadPod("a", 3), RUNNING);
    add(deadPod("b", 1), COMPLETED);
    await clock.advance(1_000);
    assert.deepEqual(removed, ["a-0"]);
    await clock.advance(60_000);
    assert.deepEqual(removed, ["a-0", "a-1"]);
    await stop();
  });

  test("[19.10] a removed pod's container stays until it has the minimum age", async () => {
    const { clock, removed, add, stop } = world({ ageMsMin: 120_000 });
    add(deadPod("a", 1), EVICTED);
    await clock.advance(119_000);
    assert.deepEqual(removed, []);
    await clock.advance(1_000);
    assert.deepEqual(removed, ["a-0", "a-sandbox"]);
    await stop();
  });
});

void suite("reclaim of containers", () => {
  test("[17.4] [19.1] a request removes the containers of completed pods, not the newest of active ones", async () => {
    const { clock, cells, removed, add, request, stop } = world();
    add(deadPod("active", 1), RUNNING);
    add(deadPod("done", 1), COMPLETED);
    await clock.advance(0);
    assert.deepEqual(removed, []);
    request(1);
    await clock.advance(1_999);
    assert.deepEqual(removed, ["done-0", "done-sandbox"]);
    assert.equal(cells.containersReclaimed.value.number, 0, "the runtime frees the space later");
    await clock.advance(1);
    assert.deepEqual(cells.containersReclaimed.value, { number: 1, freedBytes: 0n, error: undefined });
    add(deadPod("later", 1), COMPLETED);
    await clock.advance(120_000);
    assert.deepEqual(removed, ["done-0", "done-sandbox"], "one request reclaims once");
    request(2);
    await clock.advance(2_000);
    assert.deepEqual(removed, ["done-0", "done-sandbox", "later-0", "later-sandbox"]);
    assert.equal(cells.containersReclaimed.value.number, 2);
    request(3);
    await clock.advance(0);
    assert.equal(cells.containersReclaimed.value.number, 3, "nothing was removed");
    await stop();
  });

  test("[17.4] a failed removal does not block other pods; the answer names it", async () => {
    const { clock, cells, runtime, removed, add, request, stop } = world();
    add(deadPod("a", 1), COMPLETED);
    add(deadPod("b", 1), COMPLETED);
    const trouble = new RuntimeError("RemoveContainer", "unknown", "device is busy");
    runtime.before = (id) => (id === "a-0" ? Promise.reject(trouble) : Promise.resolve());
    request(1);
    await clock.advance(2_000);
    assert.deepEqual(removed, ["b-0", "b-sandbox"]);
    assert.deepEqual(cells.containersReclaimed.value, { number: 1, freedBytes: 0n, error: trouble.message });
    await stop();
  });

  test("[17.4] a request is answered although a removal hangs, and a later one too", async () => {
    const { clock, cells, runtime, removed, add, request, stop } = world();
    add(deadPod("a", 1), COMPLETED);
    add(deadPod("b", 1), COMPLETED);
    const hanging = Promise.withResolvers<void>();
    runtime.before = (id) => (id === "a-0" ? hanging.promise : Promise.resolve());
    request(1);
    await clock.advance(62_000);
    assert.deepEqual(removed, ["b-0", "b-sandbox"]);
    assert.deepEqual(cells.containersReclaimed.value, {
      number: 1,
      freedBytes: 0n,
      error: "no answer within 60000 ms",
    });
    request(3);
    await clock.advance(0);
    hanging.resolve();
    await clock.advance(2_000);
    assert.deepEqual(cells.containersReclaimed.value, { number: 3, freedBytes: 0n, error: undefined });
    assert.deepEqual(removed.slice(2), ["a-0", "a-sandbox"]);
    await stop();
  });

  test("[17.4] [4.9] before every source is ready a request removes nothing and is answered with an error", async () => {
    const { clock, cells, removed, add, request, stop } = world();
    cells.sourcesReady.set(false);
    add(deadPod("a", 1), COMPLETED);
    request(1);
    await clock.advance(0);
    assert.deepEqual(removed, []);
    assert.equal(cells.containersReclaimed.value.error, "not every source of pods has been read");
    await stop();
  });
});

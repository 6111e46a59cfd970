/** Traces of a pod's life: the real workers in virtual time, with a tracer that records every span. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods } from "../src/api/resources.ts";
import { compose } from "../src/app/compose.ts";
import type { FinishedSpan } from "../src/domain/tracing/trace-context.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { scripted } from "./fake-runtime/behaviour.ts";
import { FakeTracer } from "./fake-tracer.ts";
import { kubeletOptions } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import { World } from "./world.ts";

const command = [...scripted({ onSignal: { SIGTERM: { afterMs: 300, code: 0 } } })];

function begin(failures = 0) {
  let left = failures;
  const world = new World({
    seed: 1,
    latencyMs: () => 2,
    plan: ({ port, name }) => {
      if (port !== "runtime" || name !== "RunPodSandbox" || left === 0) return undefined;
      left -= 1;
      return { kind: "fail", effect: "none", error: new RuntimeError("RunPodSandbox", "unknown", "no room") };
    },
  });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const tracer = new FakeTracer(world.clock);
  node.start((ports) => compose({ ...ports, tracer }, kubeletOptions("n1")));
  return { world, tracer, ...plainPods(world) };
}

const called = (spans: readonly FinishedSpan[], name: string) => spans.filter((span) => span.name === name);

test("[22.3] a pod's syncs, termination and removal are separate traces with the pod's names", async () => {
  const { world, tracer, create, find } = begin();
  create("web", { command });
  await world.advance(100_000);
  const uid = find("web")?.metadata?.uid ?? assert.fail("the pod is there");
  const [first, ...later] = called(tracer.finished, "syncPod");
  const names = {
    "k8s.pod.uid": uid,
    "k8s.pod": "default/web",
    "k8s.pod.name": "web",
    "k8s.namespace.name": "default",
  };
  assert.deepEqual(first?.attributes, { ...names, "k8s.pod.update_type": "create" });
  assert.ok(later.length > 0, "the pod was synced again");
  for (const { attributes, failure } of later)
    assert.deepEqual([attributes["k8s.pod.update_type"], failure], ["sync", undefined]);
  assert.deepEqual(called(tracer.finished, "syncTerminatingPod"), []);

  const deleting = world.user.delete(pods, { namespace: "default", name: "web" }, {}, new AbortController().signal);
  await world.until(deleting);
  await world.advance(20_000);
  assert.equal(find("web"), undefined);
  const [ending, over, removal] = ["syncTerminatingPod", "syncTerminatedPod", "Containers/GarbageCollect"].map((name) =>
    called(tracer.finished, name).at(-1),
  );
  assert.deepEqual(ending?.attributes, names);
  assert.deepEqual(over?.attributes, names);
  assert.equal(removal?.attributes["k8s.pod.uid"], uid);
  assert.ok(ending.endWallMs - ending.startWallMs >= 300, "it waited for the container's end");
  assert.ok(ending.endWallMs <= over.startWallMs);
  for (const span of tracer.finished) assert.equal(span.parent, undefined, span.name);
});

test("[22.3] a failed sync records its error in its span", async () => {
  const { world, tracer, create, find } = begin(1);
  create("web", { command });
  await world.advance(60_000);
  assert.equal(find("web")?.status?.phase, "Running");
  const failed = tracer.finished.filter(({ failure }) => failure !== undefined);
  assert.equal(failed.length, 1);
  const [{ name, failure, events } = assert.fail()] = failed;
  assert.equal(name, "syncPod");
  assert.match(failure ?? "", /no room/);
  assert.deepEqual(
    events.map((event) => [event.name, event.attributes["exception.type"]]),
    [["exception", "RuntimeError"]],
  );
});

/**
 * Pods whose resources are resized while they run: what is granted, deferred, reported and counted. Runs the real loops
 * in virtual time.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec, ResourceRequirements } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { sameRequirements } from "../src/domain/resize/allocation.ts";
import { keyOf } from "../test/integration/node-metrics/scrape.ts";
import { expositionText, readExposition } from "../test/support/exposition.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { keptKubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { FaultPlan, PortCall } from "./port-calls.ts";
import { SeededRandom } from "./seeded-random.ts";
import { World } from "./world.ts";

const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };

const asks = (cpu: string, memory = "64Mi"): ResourceRequirements => ({ requests: { cpu, memory } });

interface Weather {
  readonly plan?: FaultPlan;
  readonly latencyMs?: (call: PortCall) => number;
  readonly seed?: number;
}

function begin({ plan = () => undefined, latencyMs = () => 2, seed = 1 }: Weather = {}) {
  const { agent, newest } = keptKubelet();
  const world: World = new World({ seed, plan, latencyMs, onCrash: () => void world.clock.after(700, () => start()) });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const start = () => node.start(agent);
  start();
  const { create, ...rest } = plainPods(world);
  return {
    world,
    node,
    start,
    ...rest,
    create: (name: string, resources: ResourceRequirements, spec: Partial<PodSpec> = {}) =>
      create(name, { command: [...scripted(server)], resources }, spec),
    resize: (name: string, resources: ResourceRequirements) => {
      const before = rest.find(name);
      const containers = (before?.spec?.containers ?? []).map((one) => ({ ...one, resources }));
      world.api.writes.update(kindOf(pods), { ...before, spec: { ...before?.spec, containers } }, "resize", ADMIN);
    },
    remove: (name: string) =>
      world.api.writes.delete(kindOf(pods), { namespace: "default", name }, { gracePeriodSeconds: 2 }, ADMIN),
    counted: (name: string) => {
      const text = expositionText(newest().metrics.registry.collect(), "text");
      const samples = readExposition(text).get(name)?.samples ?? [];
      return Object.fromEntries(samples.map(({ labels, value }) => [keyOf(labels), value]));
    },
  };
}

const condition = (pod: Pod | undefined, type: string) => pod?.status?.conditions?.find((one) => one.type === type);
const resources = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.resources;

test("[8.2] [8.3] [8.6] a resize that does not fit is Deferred and names the pod in its way; it is granted, reported and counted when that pod is gone", async () => {
  const { world, find, create, resize, remove, eventsOf, counted } = begin();
  create("a", asks("1"));
  create("b", asks("2500m"));
  await world.advance(10_000);
  resize("a", asks("2"));
  await world.advance(5_000);
  const pending = condition(find("a"), "PodResizePending");
  assert.deepEqual(
    [pending?.status, pending?.reason, pending?.message, pending?.observedGeneration],
    [
      "True",
      "Deferred",
      "Node didn't have enough resource: cpu, requested: 2000, used: 2500, capacity: 4000; 1500 free, waits for 500 more of default/b (2500)",
      2,
    ],
  );
  assert.deepEqual(resources(find("a")), asks("1"));
  assert.deepEqual(counted("kubelet_pod_pending_resizes"), { "reason=deferred": 1 });
  remove("b");
  await world.advance(20_000);
  assert.equal(condition(find("a"), "PodResizePending"), undefined);
  assert.deepEqual(resources(find("a")), asks("2"));
  assert.deepEqual(find("a")?.status?.containerStatuses?.[0]?.allocatedResources, asks("2").requests);
  const reported = (await eventsOf("a")).filter(({ reason }) => reason?.startsWith("Resize"));
  assert.deepEqual(
    reported.map(({ type, reason, message }) => [type, reason, message?.split(": ")[0]]),
    [
      ["Warning", "ResizeDeferred", "Pod resize OutOfcpu"],
      ["Normal", "ResizeStarted", "Pod resize started"],
      ["Normal", "ResizeCompleted", "Pod resize completed"],
    ],
  );
  assert.deepEqual(counted("kubelet_container_requested_resizes_total"), {
    "operation=increase,requirement=requests,resource=cpu": 1,
  });
  const accepted = Object.entries(counted("kubelet_pod_deferred_accepted_resizes_total"));
  assert.deepEqual(
    accepted.map(([, count]) => count),
    [1],
  );
  assert.deepEqual(counted("kubelet_pod_pending_resizes"), {});
  assert.deepEqual(counted("kubelet_pod_in_progress_resizes"), { "": 0 });
});

test("[8.3] resources that one pod releases are granted to another in the same pass, and a withdrawn resize no longer waits", async () => {
  const { world, find, create, resize } = begin();
  create("a", asks("1"));
  create("b", asks("2500m"));
  await world.advance(10_000);
  resize("a", asks("2"));
  await world.advance(3_000);
  resize("b", asks("1"));
  await world.advance(3_000);
  assert.deepEqual([resources(find("a")), resources(find("b"))], [asks("2"), asks("1")]);
  resize("a", asks("3500m"));
  await world.advance(3_000);
  assert.equal(condition(find("a"), "PodResizePending")?.reason, "Deferred");
  resize("a", asks("2"));
  await world.advance(3_000);
  assert.equal(condition(find("a"), "PodResizePending"), undefined);
});

test("[5.2] [5.13] [8.1] after a restart a pod keeps its allocation whatever its spec requests, and other pods are admitted against it", async () => {
  const { world, node, start, find, create, resize } = begin();
  create("a", asks("1"));
  await world.advance(10_000);
  resize("a", asks("9"));
  await world.advance(5_000);
  node.crash();
  resize("a", asks("8"));
  start();
  create("fits", asks("2500m"));
  create("large", asks("3500m"));
  await world.advance(20_000);
  assert.deepEqual(
    ["a", "fits", "large"].map((name) => find(name)?.status?.phase),
    ["Running", "Running", "Failed"],
  );
  assert.deepEqual([resources(find("a")), find("a")?.status?.containerStatuses?.[0]?.restartCount], [asks("1"), 0]);
  assert.equal(condition(find("a"), "PodResizePending")?.observedGeneration, 3);
});

test("[8.4] a resize that the runtime refuses is reported as Error and retried until it succeeds", async () => {
  let refuses = true;
  const plan: FaultPlan = ({ name }) => {
    if (name === "UpdatePodSandboxResources") return undefined;
    return name === "UpdateContainerResources" && refuses ? { kind: "fail", effect: "none" } : undefined;
  };
  const { world, find, create, resize, eventsOf } = begin({ plan });
  create("a", asks("1"));
  await world.advance(10_000);
  resize("a", asks("2"));
  await world.advance(5_000);
  assert.deepEqual(
    [condition(find("a"), "PodResizeInProgress")?.reason, find("a")?.status?.phase],
    ["Error", "Running"],
  );
  refuses = false;
  await world.advance(30_000);
  assert.equal(condition(find("a"), "PodResizeInProgress"), undefined);
  assert.deepEqual(resources(find("a")), asks("2"));
  const reasons = (await eventsOf("a")).map(({ reason }) => reason).filter((reason) => reason?.startsWith("Resize"));
  assert.deepEqual(reasons, ["ResizeStarted", "ResizeError", "ResizeCompleted"]);
});

const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);

test("[8.2] [8.3] random resizes with a slow runtime and a crashing agent: no generation goes back, and every resize settles", async () => {
  for (const seed of SEEDS) {
    const random = new SeededRandom(`resizes/${seed}`);
    let isCalm = false;
    const troubles: FaultPlan = ({ port }) => {
      const draw = random.fraction();
      if (isCalm || port === "api") return undefined;
      if (draw < 0.002) return { kind: "crash", effect: draw < 0.001 ? "none" : "done" };
      return draw < 0.02 && port === "runtime" ? { kind: "fail", effect: draw < 0.01 ? "none" : "done" } : undefined;
    };
    const slow = ({ name }: PortCall) => (name.startsWith("Update") ? Math.floor(random.fraction() * 1_500) : 2);
    const { world, find, create, resize } = begin({ seed, plan: troubles, latencyMs: slow });
    const names = ["a", "b", "c"];
    for (const name of names) create(name, asks("500m"));
    const seen = new Map<string, number>();
    const watch = () => {
      for (const name of names) {
        const { observedGeneration = 0, conditions = [] } = find(name)?.status ?? {};
        const all = conditions.map(({ type, observedGeneration: own = 0 }) => [`${name} ${type}`, own] as const);
        for (const [key, generation] of [[name, observedGeneration] as const, ...all]) {
          assert.ok(generation >= (seen.get(key) ?? 0), `seed ${seed}: ${key} went back to ${generation}`);
          seen.set(key, generation);
        }
      }
    };
    const pass = async (ms: number) => {
      for (let left = ms; left > 0; left -= 100) {
        await world.advance(100);
        watch();
      }
    };
    await pass(15_000);
    for (let edit = 0; edit < 25; edit += 1) {
      const name = names[Math.floor(random.fraction() * names.length)] ?? "a";
      const [cpu, memory] = [
        100 + Math.floor(random.fraction() * 25) * 100,
        64 + Math.floor(random.fraction() * 4) * 16,
      ];
      if (find(name)?.status?.phase === "Running") resize(name, asks(`${cpu}m`, `${memory}Mi`));
      await pass(Math.floor(random.fraction() * 30) * 100);
    }
    isCalm = true;
    await pass(60_000);
    const ends = names.map((name) => {
      const pod = find(name);
      const [pending, inProgress] = ["PodResizePending", "PodResizeInProgress"].map((type) => condition(pod, type));
      assert.equal(inProgress, undefined, `seed ${seed}: ${name} is still under way`);
      if (pending !== undefined) assert.equal(pending.observedGeneration, pod?.metadata?.generation);
      const has = sameRequirements(resources(pod), pod?.spec?.containers[0]?.resources);
      assert.ok(has || pending?.reason === "Deferred", `seed ${seed}: ${name} has ${JSON.stringify(pod?.status)}`);
      assert.equal(pod?.status?.containerStatuses?.[0]?.restartCount, 0);
      return has;
    });
    assert.ok(
      ends.some((has) => has),
      `seed ${seed}: no pod got the resources it requested`,
    );
  }
});

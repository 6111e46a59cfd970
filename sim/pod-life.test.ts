/** What a pod's life looks like over minutes and hours, and over a restart of the machine: the real workers in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, Pod, PodSpec } from "../src/api/gen/core-v1.ts";
import { coreEvents, pods } from "../src/api/resources.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { World } from "./world.ts";

const POD_KIND = kindOf(pods);
const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const crashing: Behaviour = { exit: { afterMs: 1_000, code: 1 }, ...server };
/** Of calls and of telling. */
const SLACK_MS = 1_000;

function begin(fault: (call: PortCall) => Fault | undefined = () => undefined) {
  const calls: { readonly what: string; readonly atMs: number }[] = [];
  const plan = (call: PortCall): Fault | undefined => {
    calls.push({ what: `${call.port} ${call.name}`, atMs: world.clock.monotonicMs() });
    return fault(call);
  };
  const world: World = new World({ seed: 1, plan, latencyMs: () => 2 });
  const node = world.addNode("n1");
  for (const image of ["busybox", "other"]) node.runtime.images.load(image, {});
  node.start(kubelet);
  const find = (name: string) => world.api.store.get(POD_KIND, `default/${name}`) as unknown as Pod | undefined;
  return {
    world,
    node,
    find,
    /** When each call of this name was made, from `fromMs` on. */
    timesOf: (what: string, fromMs = 0) =>
      calls.filter((call) => call.what === what && call.atMs >= fromMs).map(({ atMs }) => atMs),
    create: (name: string, behaviour: Behaviour, spec: Partial<PodSpec> = {}) => {
      const command = [...scripted(behaviour)];
      const containers = [{ name: "app", image: "busybox", imagePullPolicy: "IfNotPresent", command }];
      const whole = {
        nodeName: "n1",
        terminationGracePeriodSeconds: 5,
        automountServiceAccountToken: false,
        containers,
      };
      const object = { metadata: { name, namespace: "default" }, spec: { ...whole, ...spec } };
      world.api.writes.create(POD_KIND, object, ADMIN);
    },
    eventsOf: async (name: string): Promise<readonly Event[]> => {
      const { signal } = new AbortController();
      const page = await world.until(world.user.list(coreEvents, { namespace: "default" }, {}, signal));
      return page.items.filter(({ involvedObject }) => involvedObject.name === name);
    },
  };
}

const apart = (timesMs: readonly number[]): readonly number[] =>
  timesMs.slice(1).map((atMs, index) => atMs - (timesMs[index] ?? 0));

const statusOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];

test("[6.3] a pod to which nothing happens is looked through again after 60 to 90 s", async () => {
  const { world, find, create, timesOf } = begin();
  create("a", server);
  await world.advance(20_000);
  assert.equal(find("a")?.status?.phase, "Running");
  await world.advance(1_200_000);
  const waits = apart(timesOf("cgroups exists", 20_000));
  assert.ok(waits.length >= 12, `${waits.length} turns`);
  for (const waitMs of waits) assert.ok(waitMs >= 60_000 && waitMs <= 90_000 + SLACK_MS, `${waitMs} ms`);
  assert.ok(new Set(waits.map((waitMs) => Math.round(waitMs / 1_000))).size > 3, "not all at the same distance");
});

test("[6.3] after a failure a pod is tried again after 10 to 15 s", async () => {
  let failures = 5;
  const { world, find, create, timesOf } = begin(({ port, name }) => {
    if (port !== "runtime" || name !== "RunPodSandbox" || failures === 0) return undefined;
    failures -= 1;
    return { kind: "fail", effect: "none", error: new RuntimeError("RunPodSandbox", "unknown", "no") };
  });
  create("a", server);
  await world.advance(120_000);
  assert.equal(find("a")?.status?.phase, "Running");
  const waits = apart(timesOf("runtime RunPodSandbox"));
  assert.equal(waits.length, 5);
  for (const waitMs of waits) assert.ok(waitMs >= 10_000 && waitMs <= 15_000 + SLACK_MS, `${waitMs} ms`);
});

test("[6.3] a step that changes where a pod stands is followed by the next at once", async () => {
  const { world, find, create } = begin();
  create("once", { exit: { afterMs: 5_000, code: 0 } }, { restartPolicy: "Never" });
  await world.advance(5_000 + SLACK_MS);
  assert.equal(find("once")?.status?.phase, "Succeeded");
});

test("[6.2] without a network only pods on the node's own start; the others say so and are tried every second", async () => {
  const { world, node, find, create, eventsOf } = begin();
  await world.advance(5_000);
  node.runtime.knobs.network = { ready: false, addError: "no plugin" };
  await world.advance(10_000);
  create("waits", server);
  create("on-node", server, { hostNetwork: true });
  await world.advance(10_000);
  assert.equal(find("on-node")?.status?.phase, "Running");
  assert.equal(find("waits")?.status?.phase, "Pending");
  assert.ok(![...node.runtime.sandboxes.values()].some(({ config }) => config.metadata.name === "waits"));
  const told = (await eventsOf("waits")).filter(({ reason }) => reason === "NetworkNotReady");
  assert.match(
    told[0]?.message ?? "",
    /^network is not ready: container runtime network not ready: NetworkReady=false reason:\S+ message:/,
  );
  const count = told.reduce((sum, event) => sum + (event.count ?? event.series?.count ?? 1), 0);
  assert.ok(count >= 8, `told ${count} times in 10 s`);
  node.runtime.knobs.network = { ready: true };
  // The runtime is asked how it is every five seconds.
  await world.advance(7_000);
  assert.equal(find("waits")?.status?.phase, "Running");
});

test("[7.3] after a restart of the machine pods go on: the same UID, a new sandbox and address, counts that continue", async () => {
  const { world, node, find, create } = begin();
  create("a", server);
  create("crashes", crashing);
  create("never", { exit: { afterMs: 2_000, code: 3 } }, { restartPolicy: "Never" });
  await world.advance(40_000);
  const [before, crashed] = [find("a"), find("crashes")];
  const restarts = statusOf(crashed)?.restartCount ?? 0;
  assert.ok(restarts >= 2, `${restarts} restarts`);
  node.crashMachine();
  node.runtime.restart();
  await world.advance(2_000);
  node.start(kubelet);
  await world.advance(60_000);
  const now = find("a");
  assert.equal(now?.metadata?.uid, before?.metadata?.uid);
  assert.equal(now?.status?.phase, "Running");
  assert.notEqual(now?.status?.podIP, before?.status?.podIP);
  assert.equal(statusOf(now)?.restartCount, 1);
  assert.ok(statusOf(now)?.ready);
  assert.equal(now?.status?.startTime, before?.status?.startTime);
  assert.ok((statusOf(find("crashes"))?.restartCount ?? 0) > restarts);
  const ready = [...node.runtime.sandboxes.values()].filter(({ state }) => state === "ready");
  const attemptOf = (name: string) =>
    ready.find(({ config }) => config.metadata.name === name)?.config.metadata.attempt;
  assert.equal(attemptOf("a"), 1);
  assert.deepEqual([find("never")?.status?.phase, attemptOf("never")], ["Failed", undefined]);
});

test("[6.10] a pod that is on its node longer than its deadline ends as failed, also when the agent was away meanwhile", async () => {
  const { world, node, find, create } = begin();
  create("late", server, { activeDeadlineSeconds: 60 });
  await world.advance(30_000);
  assert.equal(find("late")?.status?.phase, "Running");
  node.crash();
  await world.advance(10_000);
  node.start(kubelet);
  await world.advance(15_000);
  assert.equal(find("late")?.status?.phase, "Running");
  await world.advance(10_000);
  const { phase, reason, message } = find("late")?.status ?? {};
  assert.deepEqual(
    [phase, reason, message],
    ["Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"],
  );
  assert.ok(![...node.runtime.containers.values()].some(({ state }) => state === "running"));
});

test("[6.3][7.13] the runs of a crashing container are 0, 10, 20, 40, 80, 160, 300 and 300 s apart", async () => {
  const { world, create, timesOf } = begin();
  create("a", crashing);
  await world.advance(1_000_000);
  const waits = apart(timesOf("runtime StartContainer")).map((waitMs) => Math.round((waitMs - 1_000) / 1_000));
  assert.deepEqual(waits.slice(0, 8), [0, 10, 20, 40, 80, 160, 300, 300]);
});

test("[7.13] another image and a new life of the agent each begin the count anew", async () => {
  const { world, node, find, create, timesOf } = begin();
  const lastWait = () => Math.round(((apart(timesOf("runtime StartContainer")).at(-1) ?? 0) - 1_000) / 1_000);
  create("a", crashing);
  await world.advance(40_000);
  const { signal } = new AbortController();
  const image = { spec: { containers: [{ name: "app", image: "other" }] } };
  await world.until(
    world.user.patch(pods, { namespace: "default", name: "a" }, { kind: "strategic", body: image }, {}, signal),
  );
  const restarts = statusOf(find("a"))?.restartCount ?? 0;
  await world.advance(1_000);
  assert.equal(statusOf(find("a"))?.restartCount, restarts + 1, "what the old image held back is tried at once");
  await world.advance(13_000);
  assert.equal(lastWait(), 10);
  await world.advance(100_000);
  assert.equal(statusOf(find("a"))?.state?.waiting?.reason, "CrashLoopBackOff");
  const before = timesOf("runtime StartContainer").length;
  node.crash();
  node.start(kubelet);
  await world.advance(3_000);
  assert.ok(timesOf("runtime StartContainer").length > before, "what the last life held back is tried at once");
});

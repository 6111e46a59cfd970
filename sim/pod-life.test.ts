/** Pods over minutes and hours, and over a reboot of the machine: the real workers in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { HostFileError } from "../src/ports/host-files.ts";
import type { Runtime } from "../src/ports/runtime.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { World } from "./world.ts";

const POD_KIND = kindOf(pods);
const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const crashing: Behaviour = { exit: { afterMs: 1_000, code: 1 }, ...server };
/** Allowance for calls and publishing. */
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
  const { find, create, eventsOf } = plainPods(world);
  return {
    world,
    node,
    find,
    /** When each call of this name was made, from `fromMs` on. */
    timesOf: (what: string, fromMs = 0) =>
      calls.filter((call) => call.what === what && call.atMs >= fromMs).map(({ atMs }) => atMs),
    create: (name: string, behaviour: Behaviour, spec: Partial<PodSpec> = {}) =>
      create(name, { command: [...scripted(behaviour)] }, spec),
    eventsOf,
  };
}

const apart = (timesMs: readonly number[]): readonly number[] =>
  timesMs.slice(1).map((atMs, index) => atMs - (timesMs[index] ?? 0));

const statusOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];

test("[6.3] an unchanged pod is synced again after 60 to 90 s", async () => {
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

test("[6.3] a failed sync is retried after 10 to 15 s", async () => {
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

test("[6.3] a sync that changes the pod's state is followed by the next sync at once", async () => {
  const { world, find, create } = begin();
  create("once", { exit: { afterMs: 5_000, code: 0 } }, { restartPolicy: "Never" });
  await world.advance(5_000 + SLACK_MS);
  assert.equal(find("once")?.status?.phase, "Succeeded");
});

test("[6.2] without a pod network only hostNetwork pods start; others get NetworkNotReady and are retried every second", async () => {
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
  const reported = (await eventsOf("waits")).filter(({ reason }) => reason === "NetworkNotReady");
  assert.match(
    reported[0]?.message ?? "",
    /^network is not ready: container runtime network not ready: NetworkReady=false reason:\S+ message:/,
  );
  const count = reported.reduce((sum, event) => sum + (event.count ?? event.series?.count ?? 1), 0);
  assert.ok(count >= 8, `reported ${count} times in 10 s`);
  node.runtime.knobs.network = { ready: true };
  // The runtime's status is queried every five seconds.
  await world.advance(7_000);
  assert.equal(find("waits")?.status?.phase, "Running");
});

test("[5.3] a host port belongs to one pod until that pod has terminated, also across an agent restart", async () => {
  const { world, node, find, create, eventsOf } = begin();
  const ports = [{ containerPort: 80, hostPort: 8080 }];
  const with8080 = (name: string, behaviour: Behaviour) =>
    create(name, behaviour, {
      restartPolicy: "Never",
      containers: [{ name: "main", image: "busybox", command: [...scripted(behaviour)], ports }],
    });
  with8080("first", { exit: { afterMs: 60_000, code: 0 }, ...server });
  await world.advance(10_000);
  with8080("second", server);
  await world.advance(5_000);
  assert.equal(find("first")?.status?.phase, "Running");
  const { phase, reason, message } = find("second")?.status ?? {};
  assert.deepEqual([phase, reason], ["Failed", "NodePorts"]);
  assert.equal(
    message,
    "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  );
  assert.equal((await eventsOf("second")).filter((event) => event.reason === "NodePorts").length, 1);
  node.crash();
  node.start(kubelet);
  with8080("third", server);
  await world.advance(20_000);
  assert.deepEqual([find("first")?.status?.phase, find("third")?.status?.reason], ["Running", "NodePorts"]);
  await world.advance(60_000);
  assert.equal(find("first")?.status?.phase, "Succeeded");
  with8080("fourth", server);
  await world.advance(10_000);
  assert.equal(find("fourth")?.status?.phase, "Running");
  assert.equal(find("second")?.status?.phase, "Failed", "a verdict is not taken back");
});

test("[5.3] the older of two pods found at once gets the host port", async () => {
  const { world, node, find, create } = begin();
  await world.advance(5_000);
  node.crash();
  const spec = (): Partial<PodSpec> => ({
    containers: [
      {
        name: "main",
        image: "busybox",
        command: [...scripted(server)],
        ports: [{ containerPort: 80, hostPort: 8080 }],
      },
    ],
  });
  create("older", server, spec());
  await world.advance(2_000);
  create("newer", server, spec());
  node.start(kubelet);
  await world.advance(20_000);
  assert.deepEqual([find("older")?.status?.phase, find("newer")?.status?.reason], ["Running", "NodePorts"]);
});

test("[7.3] after a reboot pods resume with the same UID, a new sandbox and IP, and continued restart counts", async () => {
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

test("[19.1] a pod deleted while the agent is down leaves nothing, even when its volumes are read after the runtime forgot it", async () => {
  let isFileTrouble = false;
  const { world, node, find, create } = begin(({ port, name, target }) =>
    isFileTrouble && port === "files" && name === "list" && target === "/var/lib/kubelet/pods"
      ? { kind: "fail", effect: "none", error: new HostFileError("list", target, "other", "no") }
      : undefined,
  );
  create("a", server);
  await world.advance(10_000);
  const directory = `/var/lib/kubelet/pods/${find("a")?.metadata?.uid}`;
  assert.ok(node.files.disk.directory(directory) !== undefined);
  node.crash();
  world.api.writes.delete(POD_KIND, { namespace: "default", name: "a" }, { gracePeriodSeconds: 0 }, ADMIN);
  isFileTrouble = true;
  let runtime: Runtime | undefined;
  node.start((ports, self) => {
    runtime = ports.runtime;
    return kubelet(ports, self);
  });
  await world.advance(60_000);
  assert.ok([...node.runtime.sandboxes.values()].every(({ state }) => state === "notReady"));
  // An operator removes the sandbox manually.
  const byHand = runtime?.removeSandbox([...node.runtime.sandboxes.keys()][0] ?? "", new AbortController().signal);
  await world.until(byHand ?? Promise.resolve());
  assert.equal(node.runtime.sandboxes.size, 0);
  await world.advance(60_000);
  isFileTrouble = false;
  await world.advance(60_000);
  assert.ok(node.files.disk.directory(directory) === undefined, "its directory is gone");
});

test("[6.10] a pod that exceeds activeDeadlineSeconds fails with DeadlineExceeded, also after agent downtime", async () => {
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
  assert.equal(statusOf(find("late"))?.state?.terminated?.exitCode, 0, "as it ended on its signal");
});

test("[6.10][11.1] a container not started by its pod's deadline gets ContainerStatusUnknown with exit code 137", async () => {
  const { world, find, create } = begin(({ port, name }) =>
    port === "runtime" && name === "StartContainer" ? { kind: "hang", effect: "none" } : undefined,
  );
  create("late", server, { activeDeadlineSeconds: 10 });
  await world.advance(120_000);
  assert.deepEqual([find("late")?.status?.phase, find("late")?.status?.reason], ["Failed", "DeadlineExceeded"]);
  const { exitCode, reason } = statusOf(find("late"))?.state?.terminated ?? {};
  assert.deepEqual([exitCode, reason], [137, "ContainerStatusUnknown"]);
});

test("[6.3][7.13] restarts of a crashing container wait 0, 10, 20, 40, 80, 160, 300 and 300 s", async () => {
  const { world, create, timesOf } = begin();
  create("a", crashing);
  await world.advance(1_000_000);
  const waits = apart(timesOf("runtime StartContainer")).map((waitMs) => Math.round((waitMs - 1_000) / 1_000));
  assert.deepEqual(waits.slice(0, 8), [0, 10, 20, 40, 80, 160, 300, 300]);
});

test("[7.13] a changed image resets the back-off; an agent restart continues it", async () => {
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
  const [reported, before] = [statusOf(find("a"))?.state?.waiting?.message, timesOf("runtime StartContainer").length];
  const dueMs = Date.parse(/ at (?<due>\S+Z), after exit code 1$/.exec(reported ?? "")?.groups?.["due"] ?? "");
  node.crash();
  node.start(kubelet);
  await world.advance(3_000);
  assert.equal(statusOf(find("a"))?.state?.waiting?.message, reported, "the same restart at the same instant");
  await world.advance(Math.max(0, dueMs - world.api.wallMs()) + 1_000);
  assert.equal(timesOf("runtime StartContainer").length, before + 1, "not earlier, and not later");
});

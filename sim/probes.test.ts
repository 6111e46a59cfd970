/** Probes over minutes, over deaths of the agent and without an API server: the real kubelet in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod, PodSpec, Probe } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { EXECS_PER_CPU } from "../src/controllers/probes/exec-limiter.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, HEALTH_COMMAND, type Health, scripted } from "./fake-runtime/behaviour.ts";
import { keptKubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import type { AgentFactory } from "./sim-node.ts";
import { World } from "./world.ts";

const POD_KIND = kindOf(pods);
const SLACK_MS = 500;

/** A server whose health answers change at these ages. */
const server = (...answers: readonly (readonly [fromMs: number, health: Health])[]): Behaviour => ({
  onSignal: { SIGTERM: { afterMs: 300, code: 0 } },
  answers: answers.map(([fromMs, health]) => ({ fromMs, health })),
});
const HTTP: Probe = { httpGet: { path: "/", port: 80 } };
const EXEC: Probe = { exec: { command: HEALTH_COMMAND } };

function begin(fault: (call: PortCall) => Fault | undefined = () => undefined) {
  const calls: { readonly what: string; readonly target: string; readonly atMs: number }[] = [];
  const plan = (call: PortCall): Fault | undefined => {
    calls.push({ what: `${call.port} ${call.name}`, target: call.target, atMs: world.clock.monotonicMs() });
    return fault(call);
  };
  const world: World = new World({ seed: 1, plan, latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  const kept = keptKubelet();
  const execs = { now: 0, most: 0 };
  const agent: AgentFactory = (ports, self) => {
    const execSync: typeof ports.runtime.execSync = async (...args) => {
      execs.now += 1;
      execs.most = Math.max(execs.most, execs.now);
      return ports.runtime.execSync(...args).finally(() => {
        execs.now -= 1;
      });
    };
    return kept.agent({ ...ports, runtime: { ...ports.runtime, execSync } }, self);
  };
  node.start(agent);
  const { find, create, eventsOf } = plainPods(world);
  return {
    world,
    node,
    agent,
    find,
    /** Commands in progress, and their maximum so far. */
    execs,
    kubelet: kept.newest,
    /** When each call of this name was made, from `fromMs` on. */
    timesOf: (what: string, fromMs = 0) =>
      calls.filter((call) => call.what === what && call.atMs >= fromMs).map(({ atMs }) => atMs),
    create: (name: string, behaviour: Behaviour, probes: Partial<Container>, spec: Partial<PodSpec> = {}) =>
      create(name, { command: [...scripted(behaviour)], ...probes }, spec),
    remove: (name: string) => world.api.writes.delete(POD_KIND, { namespace: "default", name }, {}, ADMIN),
    eventsOf,
    /** Distinct events as "reason: message". */
    reportOf: async (name: string) => {
      const events = await eventsOf(name);
      return [...new Set(events.map(({ reason, message }) => `${reason}: ${message}`))];
    },
  };
}

const statusOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];
const readyOf = (pod: Pod | undefined) => [statusOf(pod)?.started, statusOf(pod)?.ready];
const conditionOf = (pod: Pod | undefined, wanted = "Ready") =>
  pod?.status?.conditions?.find(({ type }) => type === wanted);

test("[12.1] [12.7] a liveness probe at its failure threshold kills the container with events, and the container restarts", async () => {
  const { world, find, create, reportOf } = begin();
  create("a", server([0, 200], [25_000, 500]), { livenessProbe: { ...HTTP, periodSeconds: 5, failureThreshold: 2 } });
  await world.advance(25_000);
  assert.deepEqual([statusOf(find("a"))?.restartCount, ...readyOf(find("a"))], [0, true, true]);
  await world.advance(5_000 + 5_000 + SLACK_MS);
  const status = statusOf(find("a"));
  assert.deepEqual([status?.restartCount, status?.lastState?.terminated?.exitCode, status?.ready], [1, 0, true]);
  const reported = await reportOf("a");
  assert.ok(
    reported.includes("Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 500"),
    reported.join("\n"),
  );
  assert.ok(reported.includes("Killing: Container app failed liveness probe, will be restarted"), reported.join("\n"));
});

test("[12.2] other probes wait until the startup probe succeeds; then the container is ready at once", async () => {
  const { world, find, create, timesOf } = begin();
  create("a", server([9_000, 200]), {
    startupProbe: { ...HTTP, periodSeconds: 2, failureThreshold: 30 },
    livenessProbe: { ...HTTP, periodSeconds: 1, failureThreshold: 1 },
    readinessProbe: { ...HTTP, periodSeconds: 60 },
  });
  await world.advance(9_000);
  assert.deepEqual(readyOf(find("a")), [false, false]);
  assert.equal(conditionOf(find("a"))?.status, "False");
  assert.equal(conditionOf(find("a"))?.message, "containers with unready status: [app]");
  await world.advance(3_000);
  assert.deepEqual([...readyOf(find("a")), statusOf(find("a"))?.restartCount], [true, true, 0]);
  // The startup probe every two seconds, and one readiness probe.
  const before = timesOf("prober http").filter((atMs) => atMs < 12_000).length;
  assert.ok(before >= 5 && before <= 7, `${before} probes`);
  await world.advance(30_000);
  assert.equal(statusOf(find("a"))?.restartCount, 0);
});

test("[12.7] [7.14] a failed startup probe kills like liveness, with the probe's terminationGracePeriodSeconds", async () => {
  const { world, find, create, reportOf } = begin();
  const deaf: Behaviour = { answers: [{ fromMs: 0, health: 503 }], onSignal: {} };
  const startupProbe = { ...EXEC, periodSeconds: 1, failureThreshold: 3, terminationGracePeriodSeconds: 4 };
  create("a", deaf, { startupProbe }, { terminationGracePeriodSeconds: 60 });
  await world.advance(3_500 + SLACK_MS);
  assert.equal(statusOf(find("a"))?.restartCount, 0);
  await world.advance(4_000);
  assert.equal(statusOf(find("a"))?.restartCount, 1);
  assert.equal(statusOf(find("a"))?.lastState?.terminated?.exitCode, 137);
  const reported = await reportOf("a");
  assert.ok(reported.includes("Unhealthy: Startup probe failed: it says 503"), reported.join("\n"));
  assert.ok(reported.includes("Killing: Container app failed startup probe, will be restarted"), reported.join("\n"));
});

test("[12.8] a probe without terminationGracePeriodSeconds uses the pod's", async () => {
  const { world, find, create } = begin();
  const deaf: Behaviour = { answers: [{ fromMs: 0, health: 503 }], onSignal: {} };
  const livenessProbe = { ...EXEC, periodSeconds: 1, failureThreshold: 1 };
  create("a", deaf, { livenessProbe }, { terminationGracePeriodSeconds: 20 });
  await world.advance(18_000);
  assert.equal(statusOf(find("a"))?.restartCount, 0);
  await world.advance(5_000);
  assert.equal(statusOf(find("a"))?.restartCount, 1);
});

test("[12.7] restartPolicy decides after a liveness kill: Never does not restart, OnFailure restarts despite exit code 0", async () => {
  const { world, find, create, reportOf } = begin();
  const dies = server([0, 200], [8_000, 500]);
  const livenessProbe = { ...HTTP, periodSeconds: 1, failureThreshold: 1 };
  create("never", dies, { livenessProbe }, { restartPolicy: "Never" });
  create("on-failure", dies, { livenessProbe }, { restartPolicy: "OnFailure" });
  await world.advance(15_000);
  assert.deepEqual([find("never")?.status?.phase, statusOf(find("never"))?.restartCount], ["Succeeded", 0]);
  assert.deepEqual([find("on-failure")?.status?.phase, statusOf(find("on-failure"))?.restartCount], ["Running", 1]);
  assert.ok(
    (await reportOf("never")).includes("Killing: Stopping container app"),
    "with its last container the pod ends",
  );
});

test("[12.2] readiness sets and clears Ready, and never kills", async () => {
  const { world, find, create, reportOf } = begin();
  const readinessProbe = { ...HTTP, periodSeconds: 2, failureThreshold: 2, successThreshold: 2 };
  create("a", server([600, 200], [20_000, 500], [40_000, 200]), { readinessProbe });
  await world.advance(900);
  assert.deepEqual(readyOf(find("a")), [true, false]);
  await world.advance(4_000);
  assert.deepEqual([...readyOf(find("a")), conditionOf(find("a"))?.status], [true, true, "True"]);
  await world.advance(20_000);
  assert.deepEqual([...readyOf(find("a")), conditionOf(find("a"))?.status], [true, false, "False"]);
  assert.equal(conditionOf(find("a"), "ContainersReady")?.reason, "ContainersNotReady");
  await world.advance(20_000);
  assert.deepEqual([...readyOf(find("a")), statusOf(find("a"))?.restartCount], [true, true, 0]);
  const reported = await reportOf("a");
  assert.ok(
    reported.includes("Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 500"),
    reported.join("\n"),
  );
});

test("[12.1] a container that is ready soon after its start is published soon, whatever the probe's period", async () => {
  const { world, find, create } = begin();
  await world.advance(5_000);
  create("a", server([600, 200]), { readinessProbe: { ...HTTP, periodSeconds: 30 } });
  create("b", server([0, 200]), { readinessProbe: { ...EXEC, periodSeconds: 30 } });
  await world.advance(1_500);
  assert.deepEqual(
    [readyOf(find("a")), readyOf(find("b"))],
    [
      [true, true],
      [true, true],
    ],
  );
});

for (const [kind, probe] of [
  ["[12.3] HTTP", HTTP],
  ["[12.4] TCP", { tcpSocket: { port: 80 } }],
  ["[12.5] gRPC", { grpc: { port: 80 } }],
  ["[12.6] exec", EXEC],
] as const) {
  test(`${kind}: probes every period from the initial delay on, and kills the container when nothing answers`, async () => {
    const { world, find, create } = begin();
    const livenessProbe = { ...probe, initialDelaySeconds: 4, periodSeconds: 3, failureThreshold: 2 };
    create("well", server([0, 200]), { livenessProbe });
    create("gone", server(), { livenessProbe });
    await world.advance(7_000);
    assert.equal(statusOf(find("gone"))?.restartCount, 0);
    await world.advance(3_000);
    assert.deepEqual([statusOf(find("well"))?.restartCount, statusOf(find("gone"))?.restartCount], [0, 1]);
  });
}

test("[12.7] a probe that cannot run is tried three times, reported as errored, and never counts", async () => {
  const error = new RuntimeError("ExecSync", "unknown", "no shim");
  let isBroken = false;
  const { world, find, create, reportOf, timesOf } = begin(({ name }) =>
    isBroken && name === "ExecSync" ? { kind: "fail", effect: "none", error } : undefined,
  );
  const probe = { ...EXEC, periodSeconds: 2, failureThreshold: 1 };
  create("a", server([0, 200]), { livenessProbe: probe, readinessProbe: { ...probe, timeoutSeconds: 2 } });
  await world.advance(10_000);
  assert.deepEqual(readyOf(find("a")), [true, true]);
  isBroken = true;
  await world.advance(60_000);
  assert.deepEqual([...readyOf(find("a")), statusOf(find("a"))?.restartCount], [true, true, 0]);
  const reported = await reportOf("a");
  const text = "probe errored and resulted in unknown state: rpc error: code = Unknown desc = no shim";
  for (const kind of ["Liveness", "Readiness"])
    assert.ok(reported.includes(`Unhealthy: ${kind} ${text}`), reported.join("\n"));
  assert.equal(timesOf("runtime ExecSync", 12_000).filter((atMs) => atMs < 14_000).length, 6);
});

test("[12.9] a terminating pod's liveness is no longer probed; its readiness is probed until it has ended", async () => {
  const { world, find, create, remove, kubelet } = begin();
  const draining: Behaviour = {
    ...server([0, 200], [12_000, 500]),
    onSignal: { SIGTERM: { afterMs: 15_000, code: 0 } },
  };
  const probe = { ...HTTP, periodSeconds: 1, failureThreshold: 1 };
  create("a", draining, { livenessProbe: probe, readinessProbe: probe }, { terminationGracePeriodSeconds: 30 });
  await world.advance(8_000);
  assert.deepEqual(readyOf(find("a")), [true, true]);
  remove("a");
  await world.advance(2_000);
  assert.deepEqual(readyOf(find("a")), [true, true], "it is ready for as long as it says so");
  await world.advance(5_000);
  assert.deepEqual([...readyOf(find("a")), conditionOf(find("a"))?.status], [true, false, "False"]);
  assert.equal(statusOf(find("a"))?.state?.terminated, undefined);
  await world.advance(15_000);
  assert.equal(find("a"), undefined);
  assert.deepEqual(kubelet().metrics.probeRegistry.collect(), [], "[12.10] its figures are gone with it");
  assert.equal(kubelet().cells.probeResults.size, 0);
});

test("[12.10] counts probes by result, and measures the duration of successful probes", async () => {
  const { world, find, create, kubelet } = begin();
  create("a", server([0, 200], [10_000, 500]), { readinessProbe: { ...HTTP, periodSeconds: 5 } });
  await world.advance(21_000);
  const [duration, total] = kubelet().metrics.probeRegistry.collect();
  const uid = find("a")?.metadata?.uid ?? "";
  const common = { container: "app", namespace: "default", pod: "a", probe_type: "Readiness" };
  assert.ok(total?.kind === "counter" && duration?.kind === "histogram");
  assert.deepEqual(
    total.samples.map(({ labels, value }) => [Object.fromEntries(labels), value]),
    [
      [{ ...common, pod_uid: uid, result: "failed" }, 3],
      [{ ...common, pod_uid: uid, result: "successful" }, 2],
    ],
  );
  assert.deepEqual(
    duration.samples.map(({ labels, count }) => [Object.fromEntries(labels), count]),
    [[common, 2]],
  );
});

test("[12.1] wall-clock jumps neither hasten nor delay probes", async () => {
  const { world, find, create } = begin();
  const probe = { ...HTTP, initialDelaySeconds: 5, periodSeconds: 2 };
  world.clock.jumpWall(3_600_000);
  create("a", server([0, 200]), { readinessProbe: probe, livenessProbe: { ...probe, failureThreshold: 1 } });
  await world.advance(1_000);
  world.clock.jumpWall(-7_200_000);
  await world.advance(3_000);
  assert.deepEqual(readyOf(find("a")), [true, false]);
  await world.advance(3_000);
  assert.deepEqual(readyOf(find("a")), [true, true]);
  world.clock.jumpWall(3_600_000);
  await world.advance(20_000);
  assert.deepEqual([...readyOf(find("a")), statusOf(find("a"))?.restartCount], [true, true, 0]);
});

/** Creates these numbers of pods that are ready, unready, and not started yet. */
function crowd({ create }: ReturnType<typeof begin>, [ready, unready, unstarted]: readonly [number, number, number]) {
  const probe = { ...HTTP, periodSeconds: 10 };
  const make = (kind: string, count: number, behaviour: Behaviour, probes: Partial<Container>) => {
    for (let index = 0; index < count; index += 1) create(`${kind}-${index}`, behaviour, probes);
  };
  make("ready", ready, server([0, 200]), { startupProbe: { ...probe, periodSeconds: 2 }, readinessProbe: probe });
  make("unready", unready, server([0, 500]), { readinessProbe: probe });
  const startupProbe = { ...probe, failureThreshold: 1_000 };
  make("unstarted", unstarted, server(), { startupProbe, readinessProbe: probe, livenessProbe: probe });
}

const verdictsOf = ({ world }: ReturnType<typeof begin>) =>
  [...world.api.store.values(POD_KIND)].map((object) => {
    const pod = object as unknown as Pod;
    const reported = (pod.status?.conditions ?? []).map(({ type, status, lastTransitionTime }) => [
      type,
      status,
      lastTransitionTime,
    ]);
    return [pod.metadata?.name, ...readyOf(pod), statusOf(pod)?.restartCount, reported];
  });

test("[11.12] an agent restart changes no condition and no lastTransitionTime of 100 ready and 10 unready pods", async () => {
  const world = begin();
  crowd(world, [100, 7, 3]);
  await world.world.advance(60_000);
  const before = verdictsOf(world);
  assert.equal(before.filter(([, started, ready]) => started === true && ready === true).length, 100);
  const { node, agent, timesOf } = world;
  node.crash();
  await world.world.advance(3_000);
  const startedMs = world.world.clock.monotonicMs();
  node.start(agent);
  await world.world.advance(30_000);
  assert.deepEqual(verdictsOf(world), before);
  const sentMs = timesOf("prober http", startedMs).filter((atMs) => atMs < startedMs + 10_000);
  const busiest = Math.max(...Array.from({ length: 10 }, (_, second) => countIn(sentMs, startedMs + second * 1_000)));
  assert.ok(busiest < 40, `[12.1] ${busiest} probes in one second`);
});

const countIn = (timesMs: readonly number[], fromMs: number) =>
  timesMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 1_000).length;

test("[11.12] a restart without the API server changes no condition, and neither does the API server's return", async () => {
  const world = begin();
  crowd(world, [20, 5, 3]);
  await world.world.advance(60_000);
  const before = verdictsOf(world);
  const { node, agent } = world;
  node.crash();
  world.world.api.leave();
  await world.world.advance(1_000);
  node.start(agent);
  await world.world.advance(60_000);
  world.world.api.comeBack();
  await world.world.advance(60_000);
  assert.deepEqual(verdictsOf(world), before);
});

test("[11.12] a probe result the previous kubelet process could not publish is published without probing again", async () => {
  const { world, node, agent, find, create } = begin();
  const readinessProbe = { ...HTTP, periodSeconds: 300, initialDelaySeconds: 20 };
  create("a", server([0, 200]), { readinessProbe });
  await world.advance(15_000);
  world.api.leave();
  await world.advance(15_000);
  assert.deepEqual(readyOf(find("a")), [true, false]);
  node.crash();
  world.api.comeBack();
  node.start(agent);
  await world.advance(5_000);
  assert.deepEqual(readyOf(find("a")), [true, true]);
});

test("[11.12] a status published by the Go kubelet stands when the agent takes over its container", async () => {
  const { world, node, agent, find, create } = begin();
  create("a", server([0, 200]), {
    readinessProbe: { ...HTTP, periodSeconds: 60 },
    startupProbe: { ...HTTP, periodSeconds: 1 },
  });
  await world.advance(10_000);
  assert.deepEqual(readyOf(find("a")), [true, true]);
  node.crash();
  // As if the Go kubelet had run here, which keeps no journal.
  await node.files.port.removeTree("/var/lib/kubelet/deckhand/journal");
  const transition = conditionOf(find("a"))?.lastTransitionTime;
  node.start(agent);
  await world.advance(5_000);
  assert.deepEqual([...readyOf(find("a")), conditionOf(find("a"))?.lastTransitionTime], [true, true, transition]);
});

test("[12.7] a container due to be killed for its liveness is killed by the next kubelet process too", async () => {
  let isStuck = true;
  const { world, node, agent, find, create } = begin(({ name }) =>
    isStuck && name === "StopContainer" ? { kind: "hang", effect: "none" } : undefined,
  );
  create("a", server([0, 500]), { livenessProbe: { ...HTTP, periodSeconds: 2, failureThreshold: 3 } });
  await world.advance(10_000);
  assert.equal(statusOf(find("a"))?.restartCount, 0);
  node.crash();
  isStuck = false;
  node.start(agent);
  await world.advance(3_000);
  assert.equal(statusOf(find("a"))?.restartCount, 1);
});

test("[12.6] 220 exec probes keep to the node's concurrency limit, run equal commands once, and none fails from waiting", async () => {
  const { world, node, create, find, timesOf, execs } = begin();
  const command = scripted({ exit: { afterMs: 40, code: 0 } });
  const probe = { exec: { command }, periodSeconds: 1, failureThreshold: 1, initialDelaySeconds: 1 };
  for (let index = 0; index < PODS; index += 1) {
    create(`p${index}`, server([0, 200]), { livenessProbe: probe, readinessProbe: probe });
  }
  await world.advance(15_000);
  const [fromMs, seconds] = [world.clock.monotonicMs(), 5];
  await world.advance(seconds * 1_000);
  const runs = timesOf("runtime ExecSync", fromMs).length;
  assert.ok(runs <= PODS * (seconds + 1), `${runs} commands for ${2 * PODS * seconds} probes`);
  assert.ok(runs >= PODS * (seconds - 1), `${runs} commands in ${seconds} s: some were late by more than a period`);
  const { cpus } = await node.machine.facts();
  assert.equal(execs.most, EXECS_PER_CPU * cpus);
  for (let index = 0; index < PODS; index += 1) {
    assert.deepEqual([...readyOf(find(`p${index}`)), statusOf(find(`p${index}`))?.restartCount], [true, true, 0]);
  }
});

const PODS = 110;

test("[12.2] readiness is cleared and set again even while the journal cannot be written", async () => {
  const { world, node, find, create } = begin();
  const readinessProbe = { ...HTTP, periodSeconds: 1, failureThreshold: 1 };
  create("a", server([0, 200], [20_000, 500], [30_000, 200]), { readinessProbe });
  await world.advance(15_000);
  assert.equal(statusOf(find("a"))?.ready, true);
  node.files.faultFor = ({ operation }) =>
    ["facts", "list", "read"].includes(operation) ? undefined : { code: "readOnly", effect: "none" };
  await world.advance(10_000);
  assert.equal(statusOf(find("a"))?.ready, false);
  await world.advance(10_000);
  assert.equal(statusOf(find("a"))?.ready, true);
});

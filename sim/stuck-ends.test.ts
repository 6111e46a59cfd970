/**
 * Terminations that get stuck, at one step after the other, and terminations that proceed. Runs the real loops in
 * virtual time.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PodSpec } from "../src/api/gen/core-v1.ts";
import { pods } from "../src/api/resources.ts";
import { readJournal } from "../src/controllers/journal/read-journal.ts";
import { foldJournaledPods } from "../src/domain/journal/journaled-pod.ts";
import { ApiError } from "../src/ports/api-error.ts";
import { MountError } from "../src/ports/mounts.ts";
import { RuntimeError } from "../src/ports/runtime-error.ts";
import { ADMIN } from "./fake-api-server/identity.ts";
import { kindOf } from "./fake-api-server/kinds.ts";
import { type Behaviour, scripted } from "./fake-runtime/behaviour.ts";
import { kubelet } from "./kubelet.ts";
import { plainPods } from "./plain-pods.ts";
import type { Fault, PortCall } from "./port-calls.ts";
import { World } from "./world.ts";

const server: Behaviour = { onSignal: { SIGTERM: { afterMs: 300, code: 0 } } };
const GRACE_SECONDS = 5;
/** Measured from the end of the grace period. */
const REPORTED_WITHIN_MS = 10_000;
const GONE_WITHIN_MS = 5_000;

const memory: Partial<PodSpec> = { volumes: [{ name: "data", emptyDir: { medium: "Memory" } }] };

function begin() {
  let fault: (call: PortCall) => Fault | undefined = () => undefined;
  const world = new World({ seed: 1, plan: (call) => fault(call), latencyMs: () => 2 });
  const node = world.addNode("n1");
  node.runtime.images.load("busybox", {});
  node.start(kubelet);
  const { find, create, eventsOf } = plainPods(world);
  return {
    world,
    node,
    find,
    eventsOf,
    create: (spec: Partial<PodSpec>, behaviour: Behaviour = server, preStop?: Behaviour) => {
      const volumeMounts = (spec.volumes ?? []).map(({ name }) => ({ name, mountPath: `/${name}` }));
      const lifecycle = preStop === undefined ? {} : { preStop: { exec: { command: [...scripted(preStop)] } } };
      create("a", { command: [...scripted(behaviour)], volumeMounts, lifecycle }, spec);
    },
    remove: () =>
      world.api.writes.delete(
        kindOf(pods),
        { namespace: "default", name: "a" },
        { gracePeriodSeconds: GRACE_SECONDS },
        ADMIN,
      ),
    failWith: (plan: (call: PortCall) => Fault | undefined) => {
      fault = plan;
    },
    blocked: () => find("a")?.status?.conditions?.find(({ type }) => type === "TerminationBlocked"),
    endings: async () => {
      const records = await readJournal(node.files.port, "/var/lib/kubelet/deckhand/journal");
      return records.flatMap((record) => (record.kind === "ending" ? [record] : []));
    },
    hangsOn: async () => {
      const records = await readJournal(node.files.port, "/var/lib/kubelet/deckhand/journal");
      return [...foldJournaledPods(records).values()].find(({ pod }) => pod === "default/a")?.ending;
    },
  };
}

const failing =
  (port: string, name: string, error?: unknown) =>
  (call: PortCall): Fault | undefined =>
    call.port === port && call.name === name && !call.target.includes("journal")
      ? { kind: "fail", effect: "none", ...(error === undefined ? {} : { error }) }
      : undefined;

const busy = new MountError("unmount", "/var/lib/kubelet/pods/x", "busy", "target is busy");
const refused = new RuntimeError("StopContainer", "unknown", "no");

interface Stuck {
  readonly step: string;
  readonly reason: string;
  readonly fault: (call: PortCall) => Fault | undefined;
  readonly says: RegExp;
  readonly spec?: Partial<PodSpec>;
}

const stuck: readonly Stuck[] = [
  {
    step: "containers",
    reason: "StopContainers",
    fault: failing("runtime", "StopContainer", refused),
    says: /^step 2\/8 stop containers: .*no$/,
  },
  {
    step: "sandbox",
    reason: "StopSandbox",
    fault: failing("runtime", "StopPodSandbox", refused),
    says: /^step 3\/8 stop sandbox: .*no$/,
  },
  {
    step: "volumes",
    reason: "UnmountVolumes",
    fault: failing("mounts", "unmount", busy),
    says: /^step 4\/8 unmount: data: .*target is busy$/,
    spec: memory,
  },
  {
    step: "cgroup",
    reason: "RemoveCgroup",
    fault: failing("cgroups", "destroy", new Error("device or resource busy")),
    says: /^step 5\/8 remove cgroup: device or resource busy$/,
  },
  {
    step: "users",
    reason: "ReleaseUsers",
    fault: (call) => (call.target.endsWith("/userns") ? failing("files", "removeFile")(call) : undefined),
    says: /^step 6\/8 release range of users: /,
    spec: { hostUsers: false },
  },
  {
    step: "object",
    reason: "DeleteObject",
    fault: failing("api", "DELETE", new ApiError("delete", 500, "InternalError", "a webhook is down")),
    says: /^step 8\/8 delete API object: .*a webhook is down/,
  },
];

describe("a stuck termination", () => {
  for (const { step, reason, fault, says, spec = {} } of stuck) {
    test(`[6.5] [6.6] at step "${step}" is reported within 10 s after the grace period in a condition, an event and the journal, and ends within 5 s once the step works`, async () => {
      const { world, find, create, remove, failWith, blocked, eventsOf, hangsOn } = begin();
      create(spec);
      await world.advance(20_000);
      assert.equal(find("a")?.status?.phase, "Running");
      failWith(fault);
      remove();
      await world.advance(GRACE_SECONDS * 1000);
      assert.equal(blocked(), undefined, "not before its time");
      await world.advance(REPORTED_WITHIN_MS);
      const condition = blocked();
      assert.deepEqual([condition?.status, condition?.reason], ["True", reason]);
      assert.match(condition?.message ?? "", says);
      const reported = (await eventsOf("a")).filter((event) => event.reason === "TerminationBlocked");
      assert.deepEqual(
        reported.map(({ type, message, count }) => [type, message, count ?? 1]),
        [["Warning", condition?.message, 1]],
      );
      const kept = await hangsOn();
      assert.deepEqual([kept?.step, kept?.state], [step, "failed"]);
      await world.advance(120_000);
      assert.equal((await eventsOf("a")).filter((event) => event.reason === "TerminationBlocked").length, 1);
      failWith(() => undefined);
      await world.advance(GONE_WITHIN_MS);
      assert.equal(find("a"), undefined);
    });
  }

  test("[6.5] [6.6] with a failing API server has its step in the journal, and ends within 5 s once the server answers", async () => {
    const { world, find, create, remove, failWith, hangsOn } = begin();
    create({});
    await world.advance(20_000);
    failWith(failing("api", "PATCH"));
    remove();
    await world.advance(GRACE_SECONDS * 1000 + REPORTED_WITHIN_MS);
    const kept = await hangsOn();
    assert.deepEqual([kept?.step, kept?.state], ["status", "failed"]);
    failWith(() => undefined);
    await world.advance(GONE_WITHIN_MS);
    assert.equal(find("a"), undefined);
  });

  test("[6.5] in a call that never returns is reported as well", async () => {
    const { world, create, remove, failWith, blocked, hangsOn } = begin();
    create({});
    await world.advance(20_000);
    failWith(({ name }) => (name === "StopPodSandbox" ? { kind: "hang", effect: "none" } : undefined));
    remove();
    await world.advance(GRACE_SECONDS * 1000 + REPORTED_WITHIN_MS);
    assert.deepEqual([blocked()?.reason, blocked()?.message], ["StopSandbox", "step 3/8 stop sandbox: not done yet"]);
    const kept = await hangsOn();
    assert.deepEqual([kept?.step, kept?.state], ["sandbox", "begun"]);
  });

  test("[6.5] in a preStop hook is journaled while the hook runs, and the grace period ends the hook", async () => {
    const { world, find, create, remove, blocked, hangsOn } = begin();
    create({}, server, {});
    await world.advance(20_000);
    remove();
    await world.advance(GRACE_SECONDS * 1000 - 1_000);
    const kept = await hangsOn();
    assert.deepEqual([kept?.step, kept?.state], ["hooks", "begun"]);
    await world.advance(8_000);
    assert.deepEqual([find("a"), blocked()], [undefined, undefined]);
  });

  test("[6.6] of a pod that is not deleted removes its condition once it completes", async () => {
    const { world, find, create, failWith, blocked } = begin();
    create({ ...memory, restartPolicy: "Never" }, { exit: { afterMs: 3_000, code: 0 } });
    failWith(failing("mounts", "unmount", busy));
    await world.advance(30_000);
    assert.deepEqual([find("a")?.status?.phase, blocked()?.reason], ["Succeeded", "UnmountVolumes"]);
    failWith(() => undefined);
    await world.advance(GONE_WITHIN_MS);
    assert.deepEqual([find("a")?.status?.phase, blocked()], ["Succeeded", undefined]);
  });
});

test("[6.5] [6.6] retries of a step that fails as before add no journal records, and a restart adds at most one", async () => {
  const { world, node, create, remove, failWith, endings } = begin();
  create(memory);
  await world.advance(20_000);
  failWith(failing("mounts", "unmount", busy));
  remove();
  await world.advance(120_000);
  const before = await endings();
  assert.deepEqual(
    before.map(({ step, state }) => `${step} ${state}`),
    ["containers begun", "sandbox begun", "volumes begun", "volumes failed"],
  );
  node.crash();
  node.start(kubelet);
  await world.advance(20_000);
  assert.equal((await endings()).filter(({ state }) => state === "failed").length <= 2, true);
});

test("[6.5] [6.6] a stuck termination stays reported without a gap across an agent restart, and its event is not repeated", async () => {
  for (const [spec, fault] of [
    [memory, failing("mounts", "unmount", busy)],
    [{}, failing("runtime", "StopContainer", refused)],
  ] as const) {
    const { world, node, find, create, remove, failWith, blocked, eventsOf } = begin();
    create(spec);
    await world.advance(20_000);
    failWith(fault);
    remove();
    await world.advance(GRACE_SECONDS * 1000 + REPORTED_WITHIN_MS);
    const { reason, lastTransitionTime } = blocked() ?? {};
    assert.ok(reason !== undefined);
    node.crash();
    await world.advance(3_000);
    node.start(kubelet);
    for (let atMs = 0; atMs < 30_000; atMs += 50) {
      await world.advance(50);
      assert.deepEqual([blocked()?.reason, blocked()?.lastTransitionTime], [reason, lastTransitionTime]);
    }
    const reported = (await eventsOf("a")).filter((event) => event.reason === "TerminationBlocked");
    assert.deepEqual(
      reported.map(({ count }) => count ?? 1),
      [1],
    );
    failWith(() => undefined);
    await world.advance(GONE_WITHIN_MS);
    assert.equal(find("a"), undefined);
  }
});

test("[6.5] [6.6] while the runtime is unavailable, a termination is retried every few seconds, not continuously", async () => {
  let asked = 0;
  const { world, create, remove, failWith } = begin();
  create({});
  await world.advance(20_000);
  failWith(({ name }) => {
    if (name !== "ListPodSandbox" && name !== "ListContainers") return undefined;
    asked += 1;
    return { kind: "fail", effect: "none", error: new RuntimeError(name, "unavailable", "gone") };
  });
  remove();
  await world.advance(60_000);
  assert.ok(asked <= 150, `${asked} requests in a minute`);
});

test("[6.5] [6.6] a termination without errors reports nothing", async () => {
  const { world, find, create, remove, eventsOf, endings } = begin();
  create(memory);
  await world.advance(20_000);
  remove();
  await world.advance(15_000);
  assert.equal(find("a"), undefined);
  assert.deepEqual(
    (await eventsOf("a")).filter(({ reason }) => reason === "TerminationBlocked"),
    [],
  );
  assert.deepEqual(
    (await endings()).filter(({ state }) => state === "failed"),
    [],
  );
});

test("a container that is listed as running without a process blocks termination, is removed after a minute and reported in an event", async () => {
  const { world, node, find, create, remove, blocked, eventsOf } = begin();
  create({});
  await world.advance(5_000);
  for (const id of node.runtime.containers.keys()) node.runtime.overlook(id);
  remove();
  await world.advance((GRACE_SECONDS + 10) * 1_000);
  assert.match(blocked()?.message ?? "", /^step 3\/8 stop sandbox: containers still run after they were stopped$/);
  await world.advance(40_000);
  assert.equal(node.runtime.containers.size, 1, "for a minute the runtime is believed");
  await world.advance(20_000);
  assert.equal(find("a"), undefined);
  assert.equal(node.runtime.containers.size, 0);
  const events = await eventsOf("a");
  const reported = events.filter(({ reason }) => reason === "FailedKillPod");
  assert.equal(events.find(({ reason }) => reason === "Killing")?.count, 1, "a stop that is tried again is no news");
  assert.deepEqual(
    reported.map(({ message }) => message),
    ["error killing pod: container app still listed as running a minute after the last process ended, removed"],
  );
});

test("a process that cannot be killed does not count as ended", async () => {
  const { world, node, find, create, remove, blocked } = begin();
  create({}, { unkillable: true });
  await world.advance(5_000);
  for (const id of node.runtime.containers.keys()) node.runtime.overlook(id);
  remove();
  await world.advance(180_000);
  assert.equal(node.runtime.containers.size, 1);
  assert.equal(blocked()?.reason, "StopSandbox");
  assert.notEqual(find("a"), undefined);
});

test("[23.2] a pod that the runtime refuses to kill gets the event FailedKillPod with the Go kubelet's message, at most every ten seconds", async () => {
  const refusals = [
    ["StopContainer", 'failed to "KillContainer" for "app" with KillContainerError'],
    ["StopPodSandbox", 'failed to "KillPodSandbox" for "UID" with KillPodSandboxError'],
  ] as const;
  for (const [call, words] of refusals) {
    const { world, find, create, remove, failWith, eventsOf } = begin();
    create({});
    await world.advance(20_000);
    const uid = find("a")?.metadata?.uid ?? "";
    failWith(failing("runtime", call, refused));
    remove();
    await world.advance(60_000);
    const events = (await eventsOf("a")).filter(({ reason }) => reason === "FailedKillPod");
    const message = `error killing pod: ${words.replace("UID", uid)}: "rpc error: code = Unknown desc = no"`;
    assert.deepEqual(
      events.map((event) => [event.type, event.message]),
      [["Warning", message]],
    );
    const count = events[0]?.count ?? 0;
    assert.ok(count >= 4 && count <= 7, `${count} times in a minute`);
    failWith(() => undefined);
    await world.advance(GONE_WITHIN_MS);
    assert.equal(find("a"), undefined);
  }
});

test("[23.2] a pod whose container status the runtime does not report gets the event FailedSync, and proceeds as soon as the runtime reports it", async () => {
  const { world, find, create, failWith, eventsOf } = begin();
  create({ restartPolicy: "Never" }, { exit: { afterMs: 30_000, code: 3 } });
  await world.advance(20_000);
  failWith(failing("runtime", "ContainerStatus", new RuntimeError("ContainerStatus", "unknown", "no answer")));
  await world.advance(30_000);
  assert.equal(find("a")?.status?.phase, "Running");
  const events = (await eventsOf("a")).filter(({ reason }) => reason === "FailedSync");
  assert.deepEqual(
    events.map(({ type, message }) => [type, message]),
    [["Warning", "error determining status: rpc error: code = Unknown desc = no answer"]],
  );
  failWith(() => undefined);
  await world.advance(5_000);
  assert.equal(find("a")?.status?.phase, "Failed");
});

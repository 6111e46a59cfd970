import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { container, instance, NOW_MS, pod, sandbox, snapshot, view } from "../../../test/support/pods.ts";
import type { Container, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { type AllocationFact, foldJournaledPods, type JournaledPod } from "../journal/journaled-pod.ts";
import { computePodActions } from "../pod/pod-actions.ts";
import type { CgroupValues } from "../resources/cgroup-values.ts";
import { containerActual, podActual } from "./actual-resources.ts";
import { type Actuated, actuatedAtStart, effective, planResize } from "./actuation.ts";
import { adoptCheckpoints } from "./adopt-checkpoints.ts";
import { allocationOf } from "./allocation.ts";
import { asRead, cpuSteps, memorySteps, sandboxShare } from "./group-steps.ts";

const has = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});
const [LESS, MORE] = [has("100m", "64Mi"), has("200m", "128Mi")];
const RESTARTS: Partial<Container> = { resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] };
const ready = [sandbox()];
const sandboxId = ready[0]?.id ?? "";

const known = (containers: Record<string, ResourceRequirements>): Actuated => ({
  containers: new Map(Object.entries(containers)),
  pod: { containers },
  isPodUnsure: false,
});
const planned = (wants: readonly Container[], actuated: Actuated) =>
  planResize(
    pod({ containers: wants }),
    view(
      ready,
      wants.map(({ name }) => instance(name, "running")),
    ),
    sandboxId,
    actuated,
  );

const unified = { version: 2, driver: "cgroupfs" } as const;

void suite("resize plan", () => {
  test("[8.4] memory and CPU are resized separately, decreases first", () => {
    const wants = [container("up", { resources: MORE }), container("down", { resources: LESS })];
    const plan = planned(wants, known({ up: LESS, down: MORE }));
    assert.deepEqual(
      [plan?.memory.map(({ name }) => name), plan?.cpu.map(({ name }) => name), plan?.pod],
      [["down", "up"], ["down", "up"], true],
    );
    assert.deepEqual(plan?.memory[0]?.reported, {
      requests: { cpu: "200m", memory: "64Mi" },
      limits: { cpu: "200m", memory: "64Mi" },
    });
    assert.deepEqual(plan?.cpu[0]?.reported, LESS);
    assert.deepEqual(
      plan?.memory.map(({ lowersMemoryTo }) => lowersMemoryTo),
      [64 * 1024 * 1024, undefined],
    );
  });

  test("[8.1] an actuated resize is not repeated; a container that does not run is resized at its start", () => {
    assert.equal(planned([container("c", { resources: has("0.1", "65536Ki") })], known({ c: LESS })), undefined);
    const gone = view(ready, [instance("c", "exited")]);
    const plan = planResize(
      pod({ containers: [container("c", { resources: MORE })] }),
      gone,
      sandboxId,
      known({ c: LESS }),
    );
    assert.deepEqual(plan, { kind: "resize", memory: [], cpu: [], pod: true });
  });

  test("[8.1] a change of requests alone is sent to the runtime too", () => {
    const wants = { requests: { cpu: "100m", memory: "32Mi" }, limits: LESS.limits ?? {} };
    const plan = planned([container("c", { resources: wants })], known({ c: LESS }));
    assert.deepEqual([plan?.memory.length, plan?.cpu.length, plan?.memory[0]?.lowersMemoryTo], [1, 0, undefined]);
  });

  test("[8.5] containers without limits get those of their pod", () => {
    const whole = pod({ containers: [container("c")], resources: MORE });
    assert.deepEqual(effective(allocationOf(whole)).containers["c"], { limits: { cpu: "200m", memory: "128Mi" } });
    const plan = planResize(whole, view(ready, [instance("c", "running")]), sandboxId, {
      ...effectiveOf(LESS),
      isPodUnsure: false,
    });
    assert.deepEqual([plan?.memory.length, plan?.cpu.length, plan?.pod], [1, 1, true]);
  });

  test("[8.4] [7.13] a memory resize with RestartContainer stops the container and restarts it without backoff", () => {
    const own = pod({ restartPolicy: "OnFailure", containers: [container("app", { resources: MORE, ...RESTARTS })] });
    const running = snapshot({
      pod: own,
      view: view(ready, [instance("app", "running")]),
      actuated: known({ app: LESS }),
    });
    const first = computePodActions(running);
    assert.deepEqual(
      first.actions.map(({ kind }) => kind),
      ["stopContainers", "resize"],
    );
    assert.ok(first.isResizing);
    const ended = instance("app", "exited", { exitCode: 0 });
    const second = computePodActions(
      snapshot({
        pod: own,
        view: view(ready, [ended]),
        actuated: known({ app: MORE }),
        restartsForResize: new Map([["app", ended.id]]),
        backoffs: new Map([["app", { delayMs: 300_000, decidedWallMs: NOW_MS }]]),
      }),
    );
    assert.deepEqual(
      second.actions.map((action) => [action.kind, "after" in action ? action.after : "-"]),
      [["startContainer", undefined]],
    );
    assert.deepEqual([second.isResizing, second.completed, second.backingOff.size], [true, false, 0]);
    const cpuOnly = container("app", { resources: has("200m", "64Mi"), ...RESTARTS });
    const still = computePodActions(
      snapshot({
        pod: pod({ containers: [cpuOnly] }),
        view: view(ready, [instance("app", "running")]),
        actuated: known({ app: LESS }),
      }),
    );
    assert.deepEqual(
      still.actions.map(({ kind }) => kind),
      ["resize"],
    );
  });

  test("[7.6] a resize comes after stops and before starts", () => {
    const own = pod({ containers: [container("app", { resources: MORE }), container("new", { resources: LESS })] });
    const strange = instance("unknown", "running");
    const plan = computePodActions(
      snapshot({ pod: own, view: view(ready, [instance("app", "running"), strange]), actuated: known({ app: LESS }) }),
    );
    assert.deepEqual(
      plan.actions.map(({ kind }) => kind),
      ["stopContainers", "resize", "startContainer"],
    );
  });
});

const effectiveOf = (podLevel: ResourceRequirements) => {
  const whole = effective({ containers: { c: {} }, podLevel });
  return { containers: new Map(Object.entries(whole.containers)), pod: whole };
};

void suite("pod cgroup", () => {
  const low: CgroupValues = { cpuShares: 102, cpuQuotaUs: 10_000, cpuPeriodUs: 100_000, memoryLimitBytes: 64n };
  const high: CgroupValues = { cpuShares: 204, cpuQuotaUs: 20_000, cpuPeriodUs: 100_000, memoryLimitBytes: 128n };

  test("[8.4] limits are raised before the containers grow and lowered after they have shrunk", () => {
    assert.deepEqual(memorySteps(low, high), { before: [{ memoryLimitBytes: 128n }], after: [] });
    assert.deepEqual(memorySteps(high, low), { before: [], after: [{ memoryLimitBytes: 64n }] });
    const quota = (cpuQuotaUs: number) => ({ cpuQuotaUs, cpuPeriodUs: 100_000 });
    assert.deepEqual(cpuSteps(low, high), { before: [quota(20_000), { cpuShares: 204 }], after: [] });
    assert.deepEqual(cpuSteps(high, low), { before: [], after: [{ cpuShares: 102 }, quota(10_000)] });
    assert.deepEqual(memorySteps({}, low), { before: [], after: [{ memoryLimitBytes: 64n }] });
    assert.deepEqual(memorySteps(high, {}), { before: [], after: [] });
    assert.deepEqual(
      [memorySteps(low, low), cpuSteps(low, low)],
      [
        { before: [], after: [] },
        { before: [], after: [] },
      ],
    );
  });

  test("[8.4] the runtime gets the values as the kernel rounds them, without the overhead", () => {
    assert.deepEqual(asRead(low, unified), { ...low, cpuShares: 80 });
    assert.deepEqual(asRead({ cpuQuotaUs: 50_100 }, { ...unified, driver: "systemd" }).cpuQuotaUs, 51_000);
    assert.deepEqual(asRead({ cpuShares: 2 }, unified), {
      cpuShares: 2,
      cpuQuotaUs: -1,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: -1n,
    });
    const overhead = { cpu: "50m", memory: "28" };
    assert.deepEqual(sandboxShare(pod({ overhead }), high), {
      cpuShares: 153,
      cpuQuotaUs: 15_000,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: 100n,
    });
    assert.deepEqual(sandboxShare(pod(), high), high);
  });
});

void suite("state left by a previous kubelet process", () => {
  const records = (...all: readonly [generation: number, resources: ResourceRequirements][]) =>
    all.map(([generation, resources], place) => ({
      kind: "allocated" as const,
      uid: "u",
      pod: "ns/p",
      wallMs: NOW_MS + place,
      generation,
      allocation: { containers: { c: resources } },
    }));
  const allocationOf = (pods: ReadonlyMap<string, JournaledPod>): AllocationFact =>
    pods.get("u")?.allocated ?? assert.fail();

  test("[5.13] [8.1] an allocated resize that was not actuated is found, an actuated one is not repeated", () => {
    const all = records([1, LESS], [2, MORE]);
    const fact = allocationOf(foldJournaledPods(all));
    const old = instance("c", "running");
    const wants = pod({ containers: [container("c", { resources: MORE })] });
    const left = actuatedAtStart(fact, wants, view(ready, [old]));
    assert.deepEqual([left.containers.get("c"), left.isPodUnsure], [LESS, true]);
    const young = { ...old, createdWallNs: BigInt(NOW_MS + 10_000) * 1_000_000n };
    assert.deepEqual(actuatedAtStart(fact, wants, view(ready, [young])).containers.get("c"), MORE);
    const reported = {
      ...old,
      resources: { memoryLimitBytes: 128n * 1024n * 1024n, cpuQuotaUs: 10_000, cpuPeriodUs: 100_000, cpuShares: 102 },
    };
    assert.deepEqual(actuatedAtStart(fact, wants, view(ready, [reported])).containers.get("c"), {
      requests: LESS.requests,
      limits: { cpu: "100m", memory: "134217728" },
    });
    const dated = { ...reported, createdWallNs: young.createdWallNs };
    assert.deepEqual(
      actuatedAtStart(fact, wants, view(ready, [dated])).containers.get("c"),
      { requests: { ...MORE.requests, cpu: "100m" }, limits: { ...MORE.limits, cpu: "100m" } },
      "the clock was set back after the container was created",
    );
    const done = foldJournaledPods([...all, { kind: "resized", uid: "u", pod: "ns/p", wallMs: NOW_MS, generation: 2 }]);
    const after = actuatedAtStart(allocationOf(done), wants, view(ready, [old]));
    assert.deepEqual([after.containers.get("c"), after.isPodUnsure], [MORE, false]);
    const first = allocationOf(foldJournaledPods(records([1, LESS])));
    assert.deepEqual(actuatedAtStart(first, wants, view(ready, [young])).containers.get("c"), LESS);
    assert.deepEqual(actuatedAtStart(undefined, wants, view(ready, [old])).containers.get("c"), MORE);
  });

  test("[27.1.27] checkpoints of a Go kubelet apply without a journal record, or when they differ from it", () => {
    const [go, older] = [{ containers: { c: has("1", "1Gi") } }, { containers: { c: LESS } }];
    const left = (file: typeof go, isOwn = false) => ({ pods: new Map([["u", file]]), isOwn });
    const none = adoptCheckpoints(new Map(), left(go), left(older));
    assert.deepEqual(
      [allocationOf(none).allocation, allocationOf(none).actuated, allocationOf(none).isForeign],
      [go, older, true],
    );
    const own = foldJournaledPods(records([1, LESS], [2, MORE]));
    const kept = (file: typeof go, isOwn: boolean) =>
      allocationOf(adoptCheckpoints(own, left(file, isOwn), left(file, isOwn)));
    assert.deepEqual([kept(go, false).allocation, kept(go, false).isForeign], [go, true]);
    assert.equal(kept(older, true), allocationOf(own), "a file of ours that came too late");
    assert.equal(kept({ containers: { c: has("0.2", "128Mi") } }, false), allocationOf(own));
    const containerAllocations = { c: { cpus: "2-3" } };
    const pinned = foldJournaledPods(records([1, LESS]).map((record) => ({ ...record, containerAllocations })));
    assert.deepEqual(
      allocationOf(adoptCheckpoints(pinned, left(go), left(go))).containerAllocations,
      containerAllocations,
    );
  });
});

void suite("resources in the pod status", () => {
  const running = {
    ...instance("c", "running"),
    resources: { cpuShares: 102, cpuQuotaUs: 10_000, cpuPeriodUs: 100_000, memoryLimitBytes: 64n * 1024n * 1024n },
  };

  test("[8.1] a running container shows the runtime's resources, others their allocation", () => {
    assert.deepEqual(containerActual(MORE, running, undefined, LESS), {
      limits: { cpu: "100m", memory: "64Mi" },
      requests: { cpu: "100m", memory: "64Mi" },
    });
    assert.deepEqual(containerActual(MORE, { ...running, state: "exited" }, undefined, LESS), MORE);
    const { resources: _, ...silent } = running;
    assert.deepEqual(containerActual(MORE, silent, undefined, LESS), LESS);
    assert.deepEqual(containerActual({}, running, undefined, LESS), {});
    const nothing = { requests: { cpu: "1m", memory: "0" } };
    const reported = containerActual({ requests: { cpu: "1m" } }, silent, undefined, nothing);
    assert.deepEqual(reported, { requests: { cpu: "1m" } }, "a zero request is not reported");
    const tiny = { requests: { cpu: "1m" }, limits: { cpu: "5m" } };
    const least = { ...running, resources: { cpuShares: 2, cpuQuotaUs: 1000, cpuPeriodUs: 100_000 } };
    assert.deepEqual(containerActual(tiny, least, undefined, undefined), tiny);
  });

  test("[8.5] pod-level resources show the allocation until the pod runs, then the cgroup's values", () => {
    const own = pod({ containers: [container("c", { resources: LESS })] });
    assert.deepEqual(podActual(own, "Pending", undefined), {
      resources: { limits: { cpu: "100m", memory: "64Mi" }, requests: { cpu: "100m", memory: "64Mi" } },
      allocatedResources: { cpu: "100m", memory: "64Mi" },
    });
    const group = asRead(
      { cpuShares: 102, cpuQuotaUs: 10_000, cpuPeriodUs: 100_000, memoryLimitBytes: 64n * 1024n * 1024n },
      unified,
    );
    assert.deepEqual(podActual(own, "Running", group), {
      resources: { limits: { cpu: "100m", memory: "64Mi" }, requests: { cpu: "79m", memory: "64Mi" } },
      allocatedResources: { cpu: "100m", memory: "64Mi" },
    });
    const least = asRead({ cpuShares: 2 }, unified);
    assert.deepEqual(podActual(pod(), "Running", least), { resources: {} });
    const reported = { limits: { memory: "9007199254740988Ki" } };
    const ended = podActual(pod(), "Succeeded", least, { phase: "Running", resources: reported });
    assert.deepEqual(ended, { resources: reported }, "a terminated pod keeps its reported resources");
    const before = { phase: "Running", resources: { limits: { memory: "9007199254740988Ki" } } };
    assert.deepEqual(podActual(pod(), "Running", least, before), { resources: before.resources });
    assert.deepEqual(podActual(pod(), "Running", undefined, before), { resources: before.resources });
  });
});

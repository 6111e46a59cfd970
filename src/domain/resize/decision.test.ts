import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { admissionContext } from "../../../test/support/admission-context.ts";
import type { Container, Node, Pod, PodSpec, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { allocationOf, equalAllocations, sameAllocation, withAllocation } from "./allocation.ts";
import { decideResize, type ResizeSettings } from "./decision.ts";
import { whyNotBelowUsage } from "./memory-usage.ts";
import { inOrder } from "./order.ts";
import { isNews, type PendingResize, pendingAfter, pendingBefore, resizeConditions } from "./pod-resize.ts";
import { requestedResizes } from "./requested.ts";
import { completedText, errorTextOf, pendingText, startedText } from "./texts.ts";

const NODE: Node = { status: { allocatable: { cpu: "4", memory: "4Gi", pods: "10" } } };
const CONTEXT = admissionContext(NODE);
const SETTINGS: ResizeSettings = {
  cpuManagerPolicy: "none",
  memoryManagerPolicy: "None",
  limitedSwap: false,
  podLevelResizes: true,
};

const made = (
  name: string,
  resources: ResourceRequirements,
  spec: Partial<PodSpec> = {},
  more: Partial<Container> = {},
): Pod => ({
  metadata: { name, namespace: "ns", uid: name, generation: 2 },
  spec: { containers: [{ name: "c", resources, ...more }], ...spec },
});
const cpu = (amount: string): ResourceRequirements => ({ requests: { cpu: amount } });
const same = (texts: Record<string, string>): ResourceRequirements => ({ requests: texts, limits: texts });

const decide = (desired: Pod, has: ResourceRequirements, others: readonly Pod[] = [], settings = {}, context = {}) =>
  decideResize(
    desired,
    withAllocation(desired, { containers: { c: has } }),
    { active: others, preempted: [] },
    { ...CONTEXT, ...context },
    { ...SETTINGS, ...settings },
  );

void suite("resize decision", () => {
  test("[8.3] [5.2] a resize that fits is accepted; another is deferred and names the pods that hold the resource", () => {
    assert.deepEqual(decide(made("p", cpu("2")), cpu("1"), [made("a", cpu("2"))]), { kind: "accepted" });
    const others = [made("a", cpu("1")), made("b", cpu("1500m")), made("z", {})];
    assert.deepEqual(decide(made("p", cpu("2")), cpu("1"), others), {
      kind: "deferred",
      reason: "OutOfcpu",
      message: "Node didn't have enough resource: cpu, requested: 2000, used: 2500, capacity: 4000",
      waitsFor: "; 1500 free, waits for 500 more of ns/b (1500), ns/a (1000)",
    });
    const never = decide(made("p", cpu("5")), cpu("1"));
    assert.ok(never.kind === "deferred");
    assert.equal(never.waitsFor, "; this node does not have as much at all");
    assert.deepEqual(decide(made("p", cpu("2")), cpu("1"), [], {}, { node: undefined }), { kind: "unknown" });
  });

  test("[8.3] a resize of a Guaranteed pod is infeasible under a static CPU or memory manager", () => {
    const [wants, has] = [same({ cpu: "2", memory: "1Gi" }), same({ cpu: "1", memory: "1Gi" })];
    assert.deepEqual(decide(made("p", wants), has, [], { cpuManagerPolicy: "static" }), {
      kind: "infeasible",
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
      detail: "guaranteed_pod_cpu_manager_static_policy",
    });
    assert.deepEqual(decide(made("p", wants), has, [], { memoryManagerPolicy: "Static" }), { kind: "accepted" });
    const memory = decide(made("p", same({ cpu: "1", memory: "2Gi" })), has, [], { memoryManagerPolicy: "Static" });
    assert.deepEqual(memory, {
      kind: "infeasible",
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
      detail: "guaranteed_pod_memory_manager_static_policy",
    });
    assert.deepEqual(decide(made("p", cpu("2")), cpu("1"), [], { cpuManagerPolicy: "static" }), { kind: "accepted" });
  });

  test("[8.3] memory of a container with swap is resized only with RestartContainer", () => {
    const [wants, has] = [{ requests: { memory: "1Gi" } }, { requests: { memory: "512Mi" } }];
    const swap = { limitedSwap: true };
    assert.deepEqual(decide(made("p", wants), has, [], swap), {
      kind: "infeasible",
      message: "In-place resize of containers with swap is not supported.",
      detail: "swap_limitation",
    });
    const resizePolicy = [{ resourceName: "memory", restartPolicy: "RestartContainer" }];
    assert.equal(decide(made("p", wants, {}, { resizePolicy }), has, [], swap).kind, "accepted");
    assert.equal(
      decide(made("p", same({ cpu: "1", memory: "1Gi" })), same({ cpu: "1", memory: "2Gi" }), [], swap).kind,
      "accepted",
    );
    assert.equal(decide(made("p", wants), has).kind, "accepted");
  });

  test("[8.5] a pod-level resize is infeasible while its feature gate is off", () => {
    const desired = made("p", {}, { resources: cpu("2") });
    const off = decide(desired, {}, [], { podLevelResizes: false });
    assert.deepEqual(off, {
      kind: "infeasible",
      message: "InPlacePodLevelResourcesVerticalScaling is disabled",
      detail: "plr_feature_gate_off",
    });
    assert.equal(decide(desired, {}).kind, "accepted");
  });

  test("[8.3] a resize of a critical pod preempts other pods", () => {
    const victim = made("a", cpu("3"), { priority: 0 });
    const decision = decide(made("p", cpu("2"), { priority: 2_000_000_000 }), cpu("1"), [victim]);
    assert.ok(decision.kind === "preempts");
    assert.deepEqual([decision.victims, decision.resource], [[victim], "cpu"]);
  });
});

void suite("allocation", () => {
  test("[8.1] a pod gets its allocated resources; an equal allocation leaves the object unchanged", () => {
    const pod = made("p", cpu("2"), {
      resources: { limits: { cpu: "3" } },
      initContainers: [{ name: "i", resources: cpu("1") }],
    });
    assert.equal(withAllocation(pod, allocationOf(pod)), pod);
    assert.equal(
      withAllocation(pod, { containers: { c: cpu("2000m"), i: cpu("1") }, podLevel: { limits: { cpu: "3" } } }),
      pod,
    );
    const seen = withAllocation(pod, { containers: { c: cpu("1") } });
    assert.deepEqual(seen.spec, {
      containers: [{ name: "c", resources: cpu("1") }],
      initContainers: [{ name: "i", resources: cpu("1") }],
    });
    assert.equal(sameAllocation({ containers: { constructor: cpu("1") } }, { containers: {} }), true);
  });

  test("allocations are equal only with the same containers and the same amounts", () => {
    const one = { containers: { c: cpu("1") } };
    assert.equal(equalAllocations(one, { containers: { c: cpu("1000m") } }), true);
    assert.equal(equalAllocations(one, { containers: { c: cpu("2") } }), false);
    assert.equal(equalAllocations(one, { containers: { d: cpu("1") } }), false);
    for (const [a, b] of [
      [one, { containers: {} }],
      [{ containers: {} }, one],
    ] as const)
      assert.equal(equalAllocations(a, b), false);
  });

  test("[8.3] pending resizes are ordered: decreases, then by priority, QoS class and waiting time", () => {
    const waiting = (name: string, wants: string, priority: number, sinceWallMs?: number, isGuaranteed = false) => {
      const desired = made(name, isGuaranteed ? same({ cpu: wants, memory: "1Mi" }) : cpu(wants), { priority });
      return { desired, allocated: made(name, cpu("1")), sinceWallMs };
    };
    const all = [
      waiting("young", "2", 0, 9),
      waiting("new", "2", 0),
      waiting("old", "2", 0, 3),
      waiting("guaranteed", "2", 0, 9, true),
      waiting("important", "2", 5, 9),
      waiting("less", "500m", -5, 9),
    ];
    assert.deepEqual(
      inOrder(all).map(({ desired }) => desired.metadata?.name),
      ["less", "important", "guaranteed", "old", "young", "new"],
    );
  });

  test("[8.6] requested resizes are counted by resource, requirement and operation", () => {
    const before = made("p", { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1" } });
    const after = made("p", { requests: { cpu: "1000m", memory: "2Gi" }, limits: { memory: "2Gi" } });
    assert.deepEqual(
      requestedResizes(before, after).map((one) => Object.values(one).join(" ")),
      ["memory requests increase", "memory limits add", "cpu limits remove"],
    );
    assert.deepEqual(
      requestedResizes(after, made("p", { requests: { cpu: "500m", memory: "2Gi" }, limits: { memory: "2Gi" } })),
      [{ resource: "cpu", requirement: "requests", operation: "decrease" }],
    );
  });
});

void suite("resize events and conditions", () => {
  const pod = made("p", { requests: { memory: "100", cpu: "100m" }, limits: { cpu: "200m" } });
  const resources =
    '{"containers":[{"name":"c","resources":{"limits":{"cpu":"200m"},"requests":{"cpu":"100m","memory":"100"}}}],"generation":2';

  test("[8.2] resize events match the Go kubelet's text", () => {
    assert.equal(startedText(pod, 2), `Pod resize started: ${resources}}`);
    assert.equal(completedText(pod, 2), `Pod resize completed: ${resources}}`);
    assert.equal(
      errorTextOf(pod, 2, "it <failed>"),
      `Pod resize error: ${resources},"error":"it \\u003cfailed\\u003e"}`,
    );
    assert.equal(pendingText(pod, 2, "OutOfcpu", "no"), `Pod resize OutOfcpu: ${resources},"error":"no"}`);
    const init = made("p", {}, { initContainers: [{ name: "i" }] });
    assert.equal(
      completedText(init, 3),
      'Pod resize completed: {"initContainers":[{"name":"i","resources":{}}],"containers":[{"name":"c","resources":{}}],"generation":3}',
    );
  });

  test("[8.2] a pending resize keeps its start time while its reason stays, and is news only with another reason", () => {
    const deferred = (message: string) => ({ kind: "deferred", reason: "OutOfcpu", message, waitsFor: "; x" }) as const;
    const first = pendingAfter(undefined, deferred("m"), pod, 10);
    assert.deepEqual(first, { reason: "Deferred", message: "m; x", generation: 2, sinceWallMs: 10 });
    assert.equal(pendingAfter(first, deferred("m"), pod, 20), first);
    const second = pendingAfter(first, deferred("n"), pod, 20);
    assert.deepEqual([second.sinceWallMs, isNews(first, second), isNews(undefined, first)], [10, false, true]);
    const third = pendingAfter(second, { kind: "infeasible", message: "never", detail: "d" }, pod, 30);
    assert.deepEqual([third.reason, third.sinceWallMs, isNews(second, third)], ["Infeasible", 30, true]);
  });

  test("[8.2] [11.4] resize conditions carry observedGeneration, and their transition time changes only with the reason", () => {
    const pending: PendingResize = { reason: "Deferred", message: "m", generation: 4, sinceWallMs: 0 };
    const shown = resizeConditions(pending, { generation: 3, error: "" }, [], 5_000);
    assert.deepEqual(
      shown.map(({ type, status, reason, observedGeneration, lastTransitionTime }) => [
        type,
        status,
        reason,
        observedGeneration,
        lastTransitionTime,
      ]),
      [
        ["PodResizePending", "True", "Deferred", 4, "1970-01-01T00:00:00Z"],
        ["PodResizeInProgress", "True", undefined, 3, "1970-01-01T00:00:05Z"],
      ],
    );
    const [, later] = resizeConditions(pending, { generation: 3, error: "no" }, shown, 9_000);
    assert.deepEqual(
      [later?.reason, later?.message, later?.lastTransitionTime],
      ["Error", "no", "1970-01-01T00:00:09Z"],
    );
    assert.deepEqual(pendingBefore({ status: { conditions: shown } }), pending);
    assert.deepEqual(resizeConditions(undefined, undefined, shown, 0), []);
  });

  test("[8.4] a memory limit below the current usage is refused with the Go kubelet's message", () => {
    const [low, high] = [
      { limitBytes: 10n, usageBytes: 10n },
      { limitBytes: 10n, usageBytes: 9n },
    ];
    assert.equal(whyNotBelowUsage(high, [{ name: "c", ...high }]), undefined);
    assert.equal(
      whyNotBelowUsage(low, []),
      "cannot decrease memory limits: attempting to set pod memory limit (10) below current usage (10)",
    );
    assert.equal(
      whyNotBelowUsage(low, [
        { name: "c", ...low },
        { name: "d", limitBytes: 1n, usageBytes: undefined },
      ]),
      "cannot decrease memory limits: [attempting to set pod memory limit (10) below current usage (10), " +
        'attempting to set container "c" memory limit (10) below current usage (10), missing container "d" memory usage]',
    );
  });
});

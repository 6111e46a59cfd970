import assert from "node:assert/strict";
import { test } from "node:test";
import { runtimeAnswered } from "../../../test/support/node-world.ts";
import { aggregate } from "../../base/go-text.ts";
import { isReady, nodeConditions } from "./conditions.ts";
import { NO_NOT_READY_REASONS, notReadyMessages } from "./node-status.ts";
import { NO_PRESSURE } from "./pressure.ts";
import { networkTroubles, RUNTIME_UNKNOWN, type RuntimeHealth, runtimeTroubles } from "./runtime-health.ts";

const at = (seconds: number) => Date.UTC(2026, 0, 1, 0, 0, seconds);
const time = (seconds: number) => `2026-01-01T00:00:${String(seconds).padStart(2, "0")}Z`;
const good = { pressure: NO_PRESSURE, notReady: [], nowWallMs: at(0) };
const bad = {
  pressure: { memory: true, disk: true, pid: true },
  notReady: ["container runtime is down"],
  nowWallMs: at(10),
};

const texts = (...rows: readonly (readonly [string, string, string, string, number, number])[]) =>
  rows.map(([type, status, reason, message, heartbeat, transition]) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: time(heartbeat),
    lastTransitionTime: time(transition),
  }));

test("[3.11] a healthy node has three pressure conditions that are False, then Ready True", () => {
  const { conditions, changes } = nodeConditions([], good);
  assert.deepEqual(
    conditions,
    texts(
      ["MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available", 0, 0],
      ["DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", 0, 0],
      ["PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available", 0, 0],
      ["Ready", "True", "KubeletReady", "kubelet is posting ready status", 0, 0],
    ),
  );
  assert.deepEqual(changes, ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeReady"]);
});

test("[3.11] [3.16] an unhealthy node has upstream's texts and events, and new transition times", () => {
  const { conditions, changes } = nodeConditions(nodeConditions([], good).conditions, bad);
  assert.deepEqual(
    conditions,
    texts(
      ["MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available", 10, 10],
      ["DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure", 10, 10],
      ["PIDPressure", "True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available", 10, 10],
      ["Ready", "False", "KubeletNotReady", "container runtime is down", 10, 10],
    ),
  );
  assert.deepEqual(changes, [
    "NodeHasInsufficientMemory",
    "NodeHasDiskPressure",
    "NodeHasInsufficientPID",
    "NodeNotReady",
  ]);
});

test("[3.11] an unchanged status moves the heartbeat but not the transition time, even with a new message", () => {
  const first = nodeConditions([], { ...good, notReady: ["a"] }).conditions;
  const { conditions, changes } = nodeConditions(first, { ...good, notReady: ["b"], nowWallMs: at(20) });
  assert.deepEqual(changes, []);
  assert.deepEqual(
    conditions.map(({ lastHeartbeatTime, lastTransitionTime }) => [lastHeartbeatTime, lastTransitionTime]),
    Array.from({ length: 4 }, () => [time(20), time(0)]),
  );
  assert.equal(conditions[3]?.message, "b");
});

test("[3.14] conditions of others keep content and position, and Ready returns from Unknown to True", () => {
  const others = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };
  const unknown = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", lastTransitionTime: time(0) };
  const { conditions, changes } = nodeConditions([others, unknown], { ...good, nowWallMs: at(5) });
  assert.deepEqual(conditions[0], others);
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ["NetworkUnavailable", "Ready", "MemoryPressure", "DiskPressure", "PIDPressure"],
  );
  assert.equal(conditions[1]?.lastTransitionTime, time(5));
  assert.equal(isReady(conditions), true);
  assert.equal(changes.includes("NodeReady"), true);
});

test("[3.12] several causes are joined in brackets without duplicates, a single one is not", () => {
  assert.equal(aggregate(["a"]), "a");
  assert.equal(aggregate(["a", "b", "a"]), "[a, b]");
});

const { status } = runtimeAnswered();
const withNetwork = (change: object): RuntimeHealth =>
  runtimeAnswered({
    status: {
      ...status,
      conditions: status.conditions.map((c) => (c.type === "NetworkReady" ? { ...c, ...change } : c)),
    },
  });
const pleg = "PLEG is not healthy: pleg has yet to be successful";

for (const [name, health, runtime, network] of [
  [
    "before the first answer",
    { ...RUNTIME_UNKNOWN, troubles: [pleg] },
    ["container runtime status check may not have completed yet", pleg],
    ["network state unknown"],
  ],
  ["none after a good answer", runtimeAnswered(), [], []],
  [
    "the runtime is down after too long without a good answer",
    runtimeAnswered({ readiness: "down" }),
    ["container runtime is down"],
    [],
  ],
  [
    "a network that is not ready",
    withNetwork({ status: false, reason: "NetworkPluginNotReady", message: "cni plugin not initialized" }),
    [],
    [
      "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized",
    ],
  ],
  [
    "a runtime that says it is not ready",
    runtimeAnswered({
      status: { ...status, conditions: [{ type: "RuntimeReady", status: false, reason: "R", message: "m" }] },
      readiness: "unseen",
    }),
    [
      "container runtime status check may not have completed yet",
      "container runtime not ready: RuntimeReady=false reason:R message:m",
    ],
    ["container runtime network not ready: <nil>"],
  ],
] as const) {
  test(`[3.12] runtime and network causes: ${name}`, () => {
    assert.deepEqual([runtimeTroubles(health), networkTroubles(health)], [runtime, network]);
  });
}

test("[3.12] causes are in the order runtime, network, cgroups, storage, shutdown, capacity", () => {
  const qosCgroups = { kind: "failing", trouble: "no bus" } as const;
  const notReadyReasons = { storage: "CSINode is not yet initialized", shutdown: "node is shutting down" };
  assert.deepEqual(notReadyMessages({ runtime: RUNTIME_UNKNOWN, qosCgroups, notReadyReasons }, { cpu: "1" }, true), [
    "container runtime status check may not have completed yet",
    "network state unknown",
    "cgroups cannot be set up: no bus",
    "CSINode is not yet initialized",
    "node is shutting down",
    "missing node capacity for resources: memory, pods, ephemeral-storage",
  ]);
  const capacity = { cpu: "1", memory: "1", pods: "1" };
  for (const kind of ["pending", "ready"] as const) {
    const well = { runtime: runtimeAnswered(), qosCgroups: { kind }, notReadyReasons: NO_NOT_READY_REASONS };
    assert.deepEqual(notReadyMessages(well, capacity, false), []);
  }
});

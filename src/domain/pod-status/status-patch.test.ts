import assert from "node:assert/strict";
import { test } from "node:test";
import { isMinor } from "./status-patch.ts";

const patch = (status: object) => ({ metadata: { uid: "u" }, status });

test("a patch with only pod IPs, PodReadyToStartContainers=True or observedGeneration is minor", () => {
  const sandbox = { type: "PodReadyToStartContainers", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
  assert.ok(isMinor(patch({ conditions: [sandbox], podIP: "198.18.0.5", podIPs: [{ ip: "198.18.0.5" }] })));
  assert.ok(isMinor(patch({ observedGeneration: 2, conditions: [{ type: "Ready", observedGeneration: 2 }] })));
});

test("a patch of the phase, container statuses, reason or another condition is not minor", () => {
  assert.ok(!isMinor(patch({ phase: "Running" })));
  assert.ok(!isMinor(patch({ containerStatuses: [] })));
  assert.ok(!isMinor(patch({ conditions: [{ type: "Ready", status: "False" }] })));
  assert.ok(!isMinor(patch({ conditions: [{ type: "Ready", $patch: "delete" }] })));
  assert.ok(!isMinor(patch({ conditions: [{ type: "PodReadyToStartContainers", status: "False" }] })));
  assert.ok(!isMinor(patch({ reason: "Evicted" })));
});

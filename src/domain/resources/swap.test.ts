import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { swapFault, swapLimitBytes } from "./swap.ts";

const GIB = 2n ** 30n;
const podOf = (resources: ResourceRequirements, pod: Partial<Pod> = {}): Pod => ({
  spec: { containers: [{ name: "a", resources }], ...pod.spec },
  ...(pod.metadata === undefined ? {} : { metadata: pod.metadata }),
});
const limitOf = (pod: Pod, memoryBytes = 4n * GIB, swapBytes = 2n * GIB) =>
  swapLimitBytes(pod, pod.spec?.containers[0] ?? assert.fail(), { memoryBytes, swapBytes });

void test("[14.10] the swap limit of a Burstable container is proportional to its memory request", () => {
  assert.equal(limitOf(podOf({ requests: { memory: "1Gi" } })), GIB / 2n);
  assert.equal(limitOf(podOf({ requests: { memory: "1Gi" }, limits: { memory: "2Gi" } })), GIB / 2n);
  // Truncated, from a quotient in double precision.
  assert.equal(limitOf(podOf({ requests: { memory: "100Mi" } }), 4_123_455_488n, 1_073_737_728n), 27_304_662n);
  assert.equal(limitOf(podOf({ requests: { memory: "1" } })), 0n);
  assert.equal(limitOf(podOf({ requests: { cpu: "1" }, limits: { memory: "1Gi" } })), 0n);
});

void test("[14.10] Guaranteed, BestEffort and critical pods, and containers whose request equals their limit, get no swap", () => {
  const burstable = { requests: { memory: "1Gi" } };
  for (const [what, pod] of [
    ["BestEffort", podOf({})],
    ["Guaranteed", podOf({ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } })],
    ["request is limit", podOf({ limits: { memory: "1Gi" }, requests: { memory: "1Gi" } })],
    ["no memory", podOf({ requests: { cpu: "1" } })],
    ["static", podOf(burstable, { metadata: { annotations: { "kubernetes.io/config.source": "file" } } })],
    [
      "priority",
      podOf(burstable, { spec: { priority: 2_000_000_000, containers: podOf(burstable).spec?.containers ?? [] } }),
    ],
    ["more than there is", podOf({ requests: { memory: "5Gi" } })],
  ] as const) {
    assert.equal(limitOf(pod), 0n, what);
  }
  assert.equal(limitOf(podOf(burstable), 0n), 0n);
});

void test("[14.10] swap on the machine is refused unless failSwapOn is false", () => {
  const refusal = "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false";
  assert.equal(swapFault(1n, { failSwapOn: true }), refusal);
  assert.equal(swapFault(1n, { failSwapOn: false }), undefined);
  assert.equal(swapFault(0n, { failSwapOn: true }), undefined);
});

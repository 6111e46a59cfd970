import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import {
  CONFIG_MIRROR,
  CONFIG_SOURCE,
  fullNameOf,
  isCriticalPod,
  isMirrorPod,
  isNodeCriticalPod,
  isStaticPod,
  keyOf,
} from "./pod-identity.ts";

const pod = (annotations: Record<string, string>, spec: Partial<Pod["spec"]> = {}): Pod => ({
  metadata: { name: "p", namespace: "ns", annotations },
  spec: { containers: [], ...spec },
});

test("the full name is name_namespace, the key is namespace/name", () => {
  assert.deepEqual([fullNameOf(pod({})), keyOf(pod({}))], ["p_ns", "ns/p"]);
});

const kinds: readonly (readonly [string, Pod, { isStatic: boolean; isMirror: boolean; isCritical: boolean }])[] = [
  ["from the API", pod({ [CONFIG_SOURCE]: "api" }), { isStatic: false, isMirror: false, isCritical: false }],
  ["from a file", pod({ [CONFIG_SOURCE]: "file" }), { isStatic: true, isMirror: false, isCritical: true }],
  ["from a URL", pod({ [CONFIG_SOURCE]: "http" }), { isStatic: true, isMirror: false, isCritical: true }],
  ["without a source", pod({}), { isStatic: false, isMirror: false, isCritical: false }],
  ["that is a mirror pod", pod({ [CONFIG_MIRROR]: "x" }), { isStatic: false, isMirror: true, isCritical: true }],
  [
    "just below the critical priority",
    pod({}, { priority: 1_999_999_999 }),
    { isStatic: false, isMirror: false, isCritical: false },
  ],
  [
    "of critical priority",
    pod({}, { priority: 2_000_000_000 }),
    { isStatic: false, isMirror: false, isCritical: true },
  ],
];

for (const [name, one, wanted] of kinds) {
  test(`[4.2] a pod ${name} is classified as static, mirror and critical or not`, () => {
    const kind = { isStatic: isStaticPod(one), isMirror: isMirrorPod(one), isCritical: isCriticalPod(one) };
    assert.deepEqual(kind, wanted);
  });
}

test("the class system-node-critical makes a pod node-critical only with a critical priority", () => {
  const priorityClassName = "system-node-critical";
  assert.equal(isNodeCriticalPod(pod({}, { priority: 2_000_001_000, priorityClassName })), true);
  assert.equal(isNodeCriticalPod(pod({}, { priority: 10, priorityClassName })), false);
});

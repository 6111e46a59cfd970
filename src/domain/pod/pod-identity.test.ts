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

test("a pod's full name has its name first, its key its namespace first", () => {
  assert.deepEqual([fullNameOf(pod({})), keyOf(pod({}))], ["p_ns", "ns/p"]);
});

const kinds: readonly (readonly [string, Pod, { isStatic: boolean; isMirror: boolean; isCritical: boolean }])[] = [
  ["of the API", pod({ [CONFIG_SOURCE]: "api" }), { isStatic: false, isMirror: false, isCritical: false }],
  ["of a file", pod({ [CONFIG_SOURCE]: "file" }), { isStatic: true, isMirror: false, isCritical: true }],
  ["of a URL", pod({ [CONFIG_SOURCE]: "http" }), { isStatic: true, isMirror: false, isCritical: true }],
  ["without a source", pod({}), { isStatic: false, isMirror: false, isCritical: false }],
  ["that mirrors", pod({ [CONFIG_MIRROR]: "x" }), { isStatic: false, isMirror: true, isCritical: true }],
  [
    "just below critical",
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
  test(`[4.2] a pod ${name} is known by its annotations and priority`, () => {
    const kind = { isStatic: isStaticPod(one), isMirror: isMirrorPod(one), isCritical: isCriticalPod(one) };
    assert.deepEqual(kind, wanted);
  });
}

test("critical for the node is what is critical and says so by its class", () => {
  const priorityClassName = "system-node-critical";
  assert.equal(isNodeCriticalPod(pod({}, { priority: 2_000_001_000, priorityClassName })), true);
  assert.equal(isNodeCriticalPod(pod({}, { priority: 10, priorityClassName })), false);
});

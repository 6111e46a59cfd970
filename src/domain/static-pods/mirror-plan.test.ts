import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import type { OwnNode } from "../node/own-node.ts";
import type { DesiredPod, DesiredPods } from "../pod/desired-pod.ts";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE } from "../pod/pod-identity.ts";
import type { SandboxStatus } from "../runtime/sandbox.ts";
import { type MirrorAction, mirrorOf, planMirrors, runningNames } from "./mirror-plan.ts";

const node: OwnNode = { kind: "present", node: { metadata: { name: "n1", uid: "node-uid" } } };
const leaving: OwnNode = {
  kind: "present",
  node: { metadata: { ...node.node.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } },
};

const staticPod = (hash: string, uid = hash): DesiredPod => {
  const annotations = { [CONFIG_HASH]: hash, [CONFIG_SOURCE]: "file", [CONFIG_SEEN]: "2026-01-01T00:00:00Z" };
  const metadata = { name: "web-n1", namespace: "default", uid, annotations, labels: { a: "b" } };
  const pod: Pod = { metadata, spec: { containers: [], nodeName: "n1" }, status: { phase: "Pending" } };
  return { uid, source: "file", pod, given: pod, firstSeenWallMs: 0 };
};
const mirror = (hash: string, deletionTimestamp?: string): Pod => ({
  metadata: {
    name: "web-n1",
    namespace: "default",
    uid: "mirror-uid",
    annotations: { [CONFIG_MIRROR]: hash },
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  },
});

const desired = (
  pods: readonly DesiredPod[],
  mirrors: readonly Pod[],
  more: Partial<DesiredPods> = {},
): DesiredPods => ({
  pods: new Map(pods.map((pod) => [pod.uid, pod])),
  mirrors: new Map(mirrors.map((one) => ["web-n1_default", one])),
  mirrorsSeen: true,
  sourcesReady: true,
  ...more,
});

/** `running`: the UIDs of the pods with this name that run. */
const plan = (world: DesiredPods, of: OwnNode = node, running: readonly string[] | undefined = []) =>
  planMirrors(
    world,
    of,
    running.length === 0 ? new Map() : new Map([["web-n1_default", new Set(running)]]),
  ).actions.map(describeAction);
const describeAction = (action: MirrorAction) =>
  action.kind === "delete" ? `delete ${action.uid}: ${action.why}` : "create";
const planUnlisted = (world: DesiredPods) => planMirrors(world, node, undefined).actions.map(describeAction);

const one = staticPod("h1");
const away = { mirrorsSeen: false };
const early = { sourcesReady: false };
const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["[4.8] a static pod without a mirror pod gets one", plan(desired([one], [])), ["create"]],
  ["[4.8] a mirror pod with the same hash stays", plan(desired([one], [mirror("h1")])), []],
  [
    "[4.8] [27.4.4] a mirror pod with another hash is deleted",
    plan(desired([one], [mirror("h0")])),
    ["delete mirror-uid: the static pod has changed"],
  ],
  [
    "[4.8] a mirror pod with a deletionTimestamp is deleted while its static pod stays",
    plan(desired([one], [mirror("h1", "2026-01-01T00:00:00Z")])),
    ["delete mirror-uid: somebody deleted it and the static pod stays"],
  ],
  [
    "[4.8] a mirror pod without a static pod is deleted",
    plan(desired([], [mirror("h1")])),
    ["delete mirror-uid: the static pod is gone"],
  ],
  ["[4.8] no mirror pod is deleted before all sources are ready", plan(desired([], [mirror("h1")], early)), []],
  [
    "[4.8] the mirror pod of a removed static pod stays while that pod terminates",
    plan(desired([], [mirror("h1")]), node, ["h1"]),
    [],
  ],
  [
    "[4.8] the mirror pod of an edited static pod stays while the earlier pod terminates",
    plan(desired([one], [mirror("h0")]), node, ["h0"]),
    [],
  ],
  [
    "[4.8] the mirror pod of an edited static pod that was deleted by hand is not created for the next pod yet",
    plan(desired([one], []), node, ["h0"]),
    [],
  ],
  [
    "[4.8] the mirror pod is replaced when only the edited static pod runs",
    plan(desired([one], [mirror("h0")]), node, ["h1"]),
    ["delete mirror-uid: the static pod has changed"],
  ],
  ["[4.8] before the runtime's first list a mirror pod is created", planUnlisted(desired([one], [])), ["create"]],
  [
    "[4.8] before the runtime's first list no outdated mirror pod is deleted",
    planUnlisted(desired([one], [mirror("h0")])),
    [],
  ],
  [
    "[4.8] before the runtime's first list no orphaned mirror pod is deleted",
    planUnlisted(desired([], [mirror("h1")])),
    [],
  ],
  ["[4.8] a mirror pod is created before all sources are ready", plan(desired([one], [], early)), ["create"]],
  ["[4.8] nothing happens before the API server has listed the mirror pods", plan(desired([one], [], away)), []],
  [
    "[4.8] of two static pods with one name the running one is mirrored",
    plan(desired([staticPod("h0"), one], [mirror("h1")]), node, ["h0"]),
    ["delete mirror-uid: the static pod has changed"],
  ],
  [
    "[4.8] of two static pods with one name the later is mirrored when none runs",
    plan(desired([staticPod("h0"), one], [mirror("h1")])),
    [],
  ],
  ["[4.10] no mirror pod is created without a known Node", plan(desired([one], []), { kind: "unknown" }), []],
  ["[4.10] no mirror pod is created while the Node is being deleted", plan(desired([one], []), leaving), []],
  [
    "[4.10] an outdated mirror pod is deleted even without a known Node",
    plan(desired([one], [mirror("h0")]), { kind: "unknown" }),
    ["delete mirror-uid: the static pod has changed"],
  ],
];
for (const [name, actions, wanted] of cases) test(name, () => assert.deepEqual(actions, wanted));

test("[4.8] a mirror pod copies the static pod with its hash, is owned by the Node and has no server-set fields", () => {
  assert.deepEqual(mirrorOf(one.pod, { name: "n1", uid: "node-uid" }), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-n1",
      namespace: "default",
      labels: { a: "b" },
      annotations: {
        [CONFIG_HASH]: "h1",
        [CONFIG_SOURCE]: "file",
        [CONFIG_SEEN]: "2026-01-01T00:00:00Z",
        [CONFIG_MIRROR]: "h1",
      },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid", controller: true }],
    },
    spec: { containers: [], nodeName: "n1" },
  });
});

test("[4.8] pods of the API are not mirrored", () => {
  const api: DesiredPod = { ...one, source: "api" };
  assert.deepEqual(plan(desired([api], [])), []);
});

const sandbox = (uid: string, state: "ready" | "notReady"): SandboxStatus => ({
  id: `s-${uid}`,
  metadata: { name: "web-n1", namespace: "default", uid, attempt: 0 },
  state,
  createdWallNs: 1n,
  labels: {},
  annotations: {},
  runtimeHandler: "",
  ips: [],
});

test("[4.8] a mirror action waits for the pods of its name that run, are not inspected yet, or are not listed yet", () => {
  const views = [
    { uid: "stopped", sandboxes: [sandbox("stopped", "notReady")], containers: [] },
    { uid: "unlisted", sandboxes: [sandbox("unlisted", "ready")], containers: [] },
  ];
  const listed = [sandbox("stopped", "notReady"), sandbox("uninspected", "notReady")];
  const running = runningNames(listed, views);
  assert.deepEqual([...(running?.get("web-n1_default") ?? [])], ["unlisted", "uninspected"]);
  assert.deepEqual(planMirrors(desired([], [mirror("h1")]), node, running), {
    actions: [],
    awaited: new Set(["unlisted", "uninspected"]),
  });
  assert.equal(runningNames(undefined, views), undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE } from "../pod/pod-identity.ts";
import type { Sandbox } from "../runtime/sandbox.ts";
import { prepareManifest, type StaticManifest } from "./static-pod-source.ts";
import { type StaticPodFact, type StaticPodWorld, staticPodFacts, staticUidOf } from "./static-pod-uid.ts";

const origin = { kind: "file", path: "/m/web.yaml" } as const;

function manifest(image = "i:1", uid?: string): StaticManifest {
  const metadata = { name: "web", ...(uid === undefined ? {} : { uid }) };
  const parsed = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [{ name: "a", image }] } };
  const result = prepareManifest(parsed, origin, "n1");
  if (result.kind !== "ok") throw new Error(result.reason);
  return result.manifest;
}

const fact = (of: StaticManifest, more: Partial<StaticPodFact> = {}): StaticPodFact => ({
  kind: "staticPod",
  uid: "journal-uid",
  pod: "default/web-n1",
  wallMs: 0,
  source: "file:/m/web.yaml",
  contentHash: of.contentHash,
  configHash: "journal-hash",
  ...more,
});

const sandbox = (uid: string, more: Partial<Sandbox> = {}): Sandbox => ({
  id: `sandbox-of-${uid}`,
  metadata: { name: "web-n1", namespace: "default", uid, attempt: 0 },
  state: "ready",
  createdWallNs: 1n,
  labels: {},
  annotations: { [CONFIG_SOURCE]: "file", [CONFIG_HASH]: `hash-of-${uid}` },
  runtimeHandler: "",
  ...more,
});

/** The mirror pod that the Go kubelet left for this manifest, as an API server returns it. */
const mirror = (of: StaticManifest, hash: string): Pod => ({
  metadata: { ...of.pod.metadata, uid: "mirror", annotations: { [CONFIG_MIRROR]: hash } },
  spec: { ...(of.pod.spec ?? { containers: [] }), priority: 5, preemptionPolicy: "PreemptLowerPriority" },
});

const world = (more: Partial<StaticPodWorld>): StaticPodWorld => ({
  facts: new Map(),
  sandboxes: [],
  mirrors: new Map(),
  ...more,
});
const withFact = (one: StaticPodFact) => world({ facts: staticPodFacts([one]) });
const withMirror = (sandboxes: readonly Sandbox[], one: Pod) =>
  world({ sandboxes, mirrors: new Map([["web-n1_default", one]]) });

const now = manifest();
const own = [now.ownUid, now.ownUid] as const;
const go = ["go", "hash-of-go"] as const;

const cases: readonly (readonly [string, StaticManifest, StaticPodWorld, readonly [string, string] | "waits"])[] = [
  ["nothing is known: the manifest's own hash", now, world({}), own],
  ["a UID in the manifest wins over everything", manifest("i:1", "given"), withFact(fact(now)), ["given", "given"]],
  ["the journal knows this content", now, withFact(fact(now)), ["journal-uid", "journal-hash"]],
  [
    "the journal knows it before the runtime is listed",
    now,
    { ...withFact(fact(now)), sandboxes: undefined },
    ["journal-uid", "journal-hash"],
  ],
  ["the journal knows another content", now, withFact(fact(now, { contentHash: "other" })), own],
  ["the journal knows another file", now, withFact(fact(now, { source: "file:/m/old.yaml" })), own],
  ["the runtime was not listed yet", now, world({ sandboxes: undefined }), "waits"],
  ["a pod of this name runs, of unknown content", now, world({ sandboxes: [sandbox("go")] }), go],
  [
    "of two that run the newer is taken",
    now,
    world({ sandboxes: [sandbox("go", { createdWallNs: 5n }), sandbox("old")] }),
    go,
  ],
  ["one that does not run is not taken", now, world({ sandboxes: [sandbox("go", { state: "notReady" })] }), own],
  [
    "one of another source is not taken",
    now,
    world({ sandboxes: [sandbox("go", { annotations: { [CONFIG_SOURCE]: "api" } })] }),
    own,
  ],
  [
    "one of another name is not taken",
    now,
    world({
      sandboxes: [sandbox("go", { metadata: { name: "web-n2", namespace: "default", uid: "go", attempt: 0 } })],
    }),
    own,
  ],
  [
    "one without a hash has its UID for one",
    now,
    world({ sandboxes: [sandbox("go", { annotations: { [CONFIG_SOURCE]: "file" } })] }),
    ["go", "go"],
  ],
  ["its mirror says the same", now, withMirror([sandbox("go")], mirror(now, "hash-of-go")), go],
  ["its mirror says something else", now, withMirror([sandbox("go")], mirror(manifest("i:2"), "hash-of-go")), own],
  ["a mirror of another hash says nothing", now, withMirror([sandbox("go")], mirror(manifest("i:2"), "older")), go],
];

for (const [name, of, known, wanted] of cases) {
  test(`[4.5] [27.2.7] which UID a static pod has: ${name}`, () => {
    const result = staticUidOf(of, known);
    assert.deepEqual(result.kind === "waits" ? "waits" : [result.uid, result.configHash], wanted);
  });
}

test("of several records of one pod the last counts", () => {
  const facts = staticPodFacts([
    fact(now, { uid: "a" }),
    fact(now, { uid: "b" }),
    fact(now, { pod: "default/x", uid: "c" }),
  ]);
  assert.deepEqual(
    [...facts].map(([pod, { uid }]) => [pod, uid]),
    [
      ["default/web-n1", "b"],
      ["default/x", "c"],
    ],
  );
});

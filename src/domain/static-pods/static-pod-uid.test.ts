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
  ["the manifest's hash, when nothing else is known", now, world({}), own],
  ["the UID in the manifest, before all others", manifest("i:1", "given"), withFact(fact(now)), ["given", "given"]],
  ["the UID in a journal record of the same content", now, withFact(fact(now)), ["journal-uid", "journal-hash"]],
  [
    "the UID in a journal record, before the runtime is listed",
    now,
    { ...withFact(fact(now)), sandboxes: undefined },
    ["journal-uid", "journal-hash"],
  ],
  ["not that of a journal record of other content", now, withFact(fact(now, { contentHash: "other" })), own],
  ["not that of a journal record of another file", now, withFact(fact(now, { source: "file:/m/old.yaml" })), own],
  ["none yet, while the runtime has not been listed", now, world({ sandboxes: undefined }), "waits"],
  ["that of a running sandbox of the same name", now, world({ sandboxes: [sandbox("go")] }), go],
  [
    "that of the newer of two running sandboxes",
    now,
    world({ sandboxes: [sandbox("go", { createdWallNs: 5n }), sandbox("old")] }),
    go,
  ],
  ["not that of a sandbox that is not ready", now, world({ sandboxes: [sandbox("go", { state: "notReady" })] }), own],
  [
    "not that of a sandbox of another source",
    now,
    world({ sandboxes: [sandbox("go", { annotations: { [CONFIG_SOURCE]: "api" } })] }),
    own,
  ],
  [
    "not that of a sandbox of another name",
    now,
    world({
      sandboxes: [sandbox("go", { metadata: { name: "web-n2", namespace: "default", uid: "go", attempt: 0 } })],
    }),
    own,
  ],
  [
    "that of a running sandbox without a hash, as the hash too",
    now,
    world({ sandboxes: [sandbox("go", { annotations: { [CONFIG_SOURCE]: "file" } })] }),
    ["go", "go"],
  ],
  [
    "that of a running sandbox whose mirror pod has the same spec",
    now,
    withMirror([sandbox("go")], mirror(now, "hash-of-go")),
    go,
  ],
  [
    "not that of a running sandbox whose mirror pod has another spec",
    now,
    withMirror([sandbox("go")], mirror(manifest("i:2"), "hash-of-go")),
    own,
  ],
  [
    "that of a running sandbox whose mirror pod has another hash",
    now,
    withMirror([sandbox("go")], mirror(manifest("i:2"), "older")),
    go,
  ],
];

for (const [name, of, known, wanted] of cases) {
  test(`[4.5] [27.2.7] UID of a static pod: ${name}`, () => {
    const result = staticUidOf(of, known);
    assert.deepEqual(result.kind === "waits" ? "waits" : [result.uid, result.configHash], wanted);
  });
}

test("the last of several journal records of one pod counts", () => {
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

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { noPods, type SourceState } from "../pod/desired-pod.ts";
import { CONFIG_MIRROR, type PodSource } from "../pod/pod-identity.ts";
import { mergeSources } from "./merge-sources.ts";

const pod = (name: string, uid = `uid-${name}`, annotations: Record<string, string> = {}): Pod => ({
  metadata: { name, namespace: "ns", uid, annotations },
});
const seen = (...pods: readonly Pod[]): SourceState => ({ kind: "seen", pods });
const unseen: SourceState = { kind: "unseen" };
const sources = (states: Partial<Record<PodSource, SourceState>>) =>
  new Map(Object.entries(states) as [PodSource, SourceState][]);
const NOW = Date.UTC(2026, 10, 15, 6, 7, 8, 120);

test("[4.2] a pod gets its source and the time it was first seen, which stay while the pod stays", () => {
  const first = mergeSources(sources({ api: seen(pod("a")) }), noPods, NOW).desired;
  assert.deepEqual(first.pods.get("uid-a")?.pod.metadata?.annotations, {
    "kubernetes.io/config.source": "api",
    "kubernetes.io/config.seen": "2026-11-15T06:07:08.12Z",
  });
  const changed = { ...pod("a"), spec: { containers: [] } };
  const second = mergeSources(sources({ api: seen(changed) }), first, NOW + 60_000).desired.pods.get("uid-a");
  assert.equal(second?.firstSeenWallMs, NOW);
  assert.equal(second.pod.metadata?.annotations?.["kubernetes.io/config.seen"], "2026-11-15T06:07:08.12Z");
  assert.deepEqual(second.pod.spec, { containers: [] });
  assert.equal(second.given, changed);
});

test("[4.2] a pod that its source removed and has again is first seen again", () => {
  const again = (incarnation: number): SourceState => ({
    kind: "seen",
    pods: [pod("a")],
    incarnations: new Map([["uid-a", incarnation]]),
  });
  const first = mergeSources(sources({ file: again(1) }), noPods, NOW).desired;
  const same = mergeSources(sources({ file: again(1) }), first, NOW + 60_000).desired.pods.get("uid-a");
  assert.deepEqual([same?.incarnation, same?.firstSeenWallMs], [1, NOW]);
  const second = mergeSources(sources({ file: again(2) }), first, NOW + 60_000).desired.pods.get("uid-a");
  assert.deepEqual([second?.incarnation, second?.firstSeenWallMs], [2, NOW + 60_000]);
});

test("[11.1] the status found at first sight is kept across later updates", () => {
  const [before, later] = [{ phase: "Running" }, { phase: "Pending" }];
  const first = mergeSources(sources({ api: seen({ ...pod("a"), status: before }) }), noPods, NOW).desired;
  const second = mergeSources(sources({ api: seen({ ...pod("a"), status: later }) }), first, NOW + 1).desired;
  assert.equal(second.pods.get("uid-a")?.initialStatus, before);
});

test("[4.2] config.seen on a whole second has no fraction", () => {
  const { desired } = mergeSources(sources({ file: seen(pod("a")) }), noPods, Date.UTC(2026, 0, 1));
  const annotations = desired.pods.get("uid-a")?.pod.metadata?.annotations;
  assert.equal(annotations?.["kubernetes.io/config.seen"], "2026-01-01T00:00:00Z");
});

test("an unchanged pod is the same value as before", () => {
  const given = pod("a");
  const first = mergeSources(sources({ api: seen(given) }), noPods, NOW).desired;
  const second = mergeSources(sources({ api: seen(given, pod("b")) }), first, NOW + 1).desired;
  assert.equal(second.pods.get("uid-a"), first.pods.get("uid-a"));
});

test("[4.3] the second pod of one name in one source is refused, with a message that names pod and source", () => {
  const { desired, refusals } = mergeSources(sources({ file: seen(pod("a", "1"), pod("a", "2")) }), noPods, NOW);
  assert.deepEqual([...desired.pods.keys()], ["1"]);
  assert.deepEqual(
    refusals.map(({ message }) => message),
    ['Error validating pod a_ns(2) from file due to duplicate pod name "a", ignoring'],
  );
});

test("[4.3] one name in two sources gives two pods, one UID in two sources gives one", () => {
  const two = mergeSources(sources({ file: seen(pod("a", "1")), api: seen(pod("a", "2")) }), noPods, NOW);
  assert.deepEqual([...two.desired.pods.keys()], ["1", "2"]);
  const one = mergeSources(sources({ file: seen(pod("a", "1")), api: seen(pod("b", "1")) }), noPods, NOW);
  assert.deepEqual(
    [...one.desired.pods.values()].map(({ source }) => source),
    ["file"],
  );
  assert.match(one.refusals[0]?.message ?? "", /due to duplicate pod UID "1"/);
});

test("[4.8] mirror pods of the API are kept apart by full name; the annotation in a file makes none", () => {
  const mirror = pod("m", "1", { [CONFIG_MIRROR]: "hash" });
  const { desired } = mergeSources(
    sources({ file: seen({ ...mirror, metadata: { ...mirror.metadata, uid: "2" } }), api: seen(mirror) }),
    noPods,
    NOW,
  );
  assert.deepEqual([[...desired.mirrors.keys()], [...desired.pods.keys()]], [["m_ns"], ["2"]]);
});

test("[4.9] no pod is removed until every source has been read", () => {
  const first = mergeSources(sources({ file: seen(pod("a")), api: unseen }), noPods, NOW).desired;
  assert.equal(first.sourcesReady, false);
  const second = mergeSources(sources({ file: seen(), api: unseen }), first, NOW).desired;
  assert.deepEqual([[...second.pods.keys()], second.sourcesReady], [["uid-a"], false]);
  const third = mergeSources(sources({ file: seen(), api: seen() }), second, NOW).desired;
  assert.deepEqual([[...third.pods.keys()], third.sourcesReady, third.mirrorsSeen], [[], true, true]);
});

test("[4.9] a node without an API server is ready without it, and has seen no mirror pods", () => {
  const { desired } = mergeSources(sources({ file: seen() }), noPods, NOW);
  assert.deepEqual([desired.sourcesReady, desired.mirrorsSeen], [true, false]);
});

test("[4.1] another UID under the same name replaces the pod, with its own first-seen time", () => {
  const first = mergeSources(sources({ api: seen(pod("a", "1")) }), noPods, NOW).desired;
  const { desired, refusals } = mergeSources(sources({ api: seen(pod("a", "2")) }), first, NOW + 5);
  assert.deepEqual(
    [...desired.pods.values()].map(({ uid, firstSeenWallMs }) => [uid, firstSeenWallMs]),
    [["2", NOW + 5]],
  );
  assert.deepEqual(refusals, []);
});

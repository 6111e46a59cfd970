/**
 * Runs the loop alone against the simulated API server with its node authorization rules: which object is requested,
 * how often, and until when.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN } from "../../../sim/fake-api-server/identity.ts";
import { kindOf } from "../../../sim/fake-api-server/kinds.ts";
import { World } from "../../../sim/world.ts";
import { admittedVerdict, container, pod } from "../../../test/support/pods.ts";
import type { ConfigMap, Pod, PodSpec } from "../../api/gen/core-v1.ts";
import { configMaps, persistentVolumeClaims, persistentVolumes, pods, secrets } from "../../api/resources.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { ApiObject, Resource } from "../../ports/api-server.ts";
import { runReferencedObjects } from "./referenced-objects.ts";

const [MAP, SECRET, CLAIM, VOLUME] = [
  "ConfigMap/default/settings",
  "Secret/default/hidden",
  "PersistentVolumeClaim/default/disk",
  "PersistentVolume//pv-1",
];
const USES_MAP = { containers: [container("app", { envFrom: [{ configMapRef: { name: "settings" } }] })] };
const USES_CLAIM = { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "disk" } }] };

function begin(options: { readonly standalone?: boolean } = {}) {
  const calls: string[] = [];
  const world = new World({
    seed: 7,
    latencyMs: () => 1,
    plan: ({ name, target }) => void calls.push(`${name} ${target}`),
  });
  const life = world.calls.begin("n1", 1);
  const api = options.standalone === true ? undefined : world.api.connect(life, { kind: "node", name: "n1" });
  const admittedPods = new LatestTable<string, AdmittedPod>();
  const referencedObjects = new LatestTable<string, KnownObject<ApiObject>>();
  const reported: string[] = [];
  referencedObjects.watch((key) => reported.push(`${key} ${referencedObjects.get(key)?.kind ?? "gone"}`));
  const stop = new AbortController();
  const parts = { api, clock: life.clock, random: world.random.split("loop"), admittedPods, referencedObjects };
  const put = (resource: Resource<ApiObject>, object: object) =>
    world.api.writes.create(kindOf(resource), { ...object }, ADMIN);
  const objectOf = (spec: Partial<PodSpec>, name: string): Pod => pod({ nodeName: "n1", ...spec }, { name, uid: name });
  return {
    world,
    life,
    calls,
    reported,
    admittedPods,
    referencedObjects,
    stop,
    ended: runReferencedObjects(parts, stop.signal),
    put,
    bind: (spec: Partial<PodSpec>, name = "a") => {
      const { uid: _, ...metadata } = objectOf(spec, name).metadata ?? {};
      return put(pods, { metadata, spec: objectOf(spec, name).spec });
    },
    admit: (spec: Partial<PodSpec>, name = "a", verdict: AdmittedPod["verdict"] = admittedVerdict(pod(spec))) =>
      admittedPods.set(name, { uid: name, pod: objectOf(spec, name), isStatic: false, firstSeenWallMs: 0, verdict }),
    left: () => [life.pendingCount, life.timerCount, world.api.watchCount],
  };
}

const data = (known: KnownObject<ApiObject> | undefined) =>
  known?.kind === "present" ? (known.object as ConfigMap).data : known?.kind;

test("[13.8] an object is unknown when its pod is admitted, then read and watched, and dropped with its last pod", async () => {
  const world = begin();
  world.put(configMaps, { metadata: { namespace: "default", name: "settings" }, data: { a: "1" } });
  world.bind(USES_MAP);
  world.bind(USES_MAP, "b");
  world.admit(USES_MAP);
  assert.deepEqual(world.referencedObjects.get(MAP), { kind: "unknown", trouble: undefined });
  await world.world.advance(100);
  assert.deepEqual(data(world.referencedObjects.get(MAP)), { a: "1" });
  world.admit(USES_MAP, "b");
  const change = { kind: "merge", body: { data: { a: "2" } } } as const;
  const name = { namespace: "default", name: "settings" };
  world.world.api.writes.patch(kindOf(configMaps), name, change, undefined, ADMIN);
  await world.world.advance(100);
  assert.deepEqual(data(world.referencedObjects.get(MAP)), { a: "2" });
  assert.equal(world.world.api.watchCount, 1, "two pods share one watch");
  world.admittedPods.delete("a");
  await world.world.advance(100);
  assert.equal(world.world.api.watchCount, 1);
  world.admittedPods.delete("b");
  assert.equal(world.referencedObjects.get(MAP), undefined);
  await world.world.advance(100);
  assert.deepEqual(world.left(), [0, 0, 0]);
  assert.deepEqual(world.reported, [`${MAP} unknown`, `${MAP} present`, `${MAP} present`, `${MAP} gone`]);
});

test("[13.8] an absent object is missing until it is created, and missing again once it is deleted", async () => {
  const world = begin();
  world.bind(USES_MAP);
  world.admit(USES_MAP);
  await world.world.advance(100);
  assert.deepEqual(world.referencedObjects.get(MAP), { kind: "missing" });
  world.put(configMaps, { metadata: { namespace: "default", name: "settings" }, data: { a: "1" } });
  await world.world.advance(10);
  assert.deepEqual(data(world.referencedObjects.get(MAP)), { a: "1" });
  world.world.api.writes.delete(kindOf(configMaps), { namespace: "default", name: "settings" }, {}, ADMIN);
  await world.world.advance(10);
  assert.deepEqual(world.referencedObjects.get(MAP), { kind: "missing" });
});

test("[13.8] an immutable object is read once and not watched, and is kept without managedFields", async () => {
  const world = begin();
  const spec = { volumes: [{ name: "s", secret: { secretName: "hidden" } }] };
  const managedFields = [{ manager: "somebody" }];
  world.put(secrets, { metadata: { namespace: "default", name: "hidden", managedFields }, immutable: true });
  world.bind(spec);
  world.admit(spec);
  await world.world.advance(100);
  assert.deepEqual(world.left(), [0, 0, 0], "neither a watch nor a timer");
  const known = world.referencedObjects.get(SECRET);
  assert.equal(known?.kind, "present");
  assert.ok(
    known.kind === "present" && !("managedFields" in (known.object.metadata ?? {})),
    "managedFields are dropped",
  );
  const before = world.calls.length;
  await world.world.advance(3_600_000);
  assert.deepEqual([world.calls.length, world.referencedObjects.get(SECRET)], [before, known]);
});

test("a 403 is published as trouble and retried; an API server outage keeps the known object", async () => {
  const world = begin();
  world.put(configMaps, { metadata: { namespace: "default", name: "settings" }, data: { a: "1" } });
  world.admit(USES_MAP);
  await world.world.advance(20);
  const known = world.referencedObjects.get(MAP);
  assert.ok(known?.kind === "unknown" && known.trouble?.includes("403"), JSON.stringify(known));
  world.bind(USES_MAP);
  await world.world.advance(1_000);
  assert.deepEqual(data(world.referencedObjects.get(MAP)), { a: "1" });
  world.world.api.leave();
  await world.world.advance(120_000);
  assert.deepEqual(data(world.referencedObjects.get(MAP)), { a: "1" });
  world.world.api.comeBack();
  await world.world.advance(60_000);
  assert.equal(
    world.reported.filter((line) => line === `${MAP} present`).length,
    1,
    "a known object is published once",
  );
});

test("[13.30] a 403 for a claim is not published within 150 ms and is published within 650 ms", async () => {
  const trouble = ({ referencedObjects }: ReturnType<typeof begin>) => {
    const known = referencedObjects.get(CLAIM);
    return known?.kind === "unknown" ? known.trouble : known?.kind;
  };
  const metadata = { namespace: "default", name: "disk" };
  const [early, refused] = [begin(), begin()];
  for (const world of [early, refused]) {
    world.put(persistentVolumeClaims, { metadata, spec: { volumeName: "pv-1" } });
    world.admit(USES_CLAIM);
    await world.world.advance(150);
    assert.equal(trouble(world), undefined);
  }
  early.bind(USES_CLAIM);
  await early.world.advance(200);
  assert.equal(trouble(early), "present");
  await refused.world.advance(500);
  assert.match(trouble(refused) ?? "", /^persistentvolumeclaims is forbidden: User "system:node:n1"/);
});

test("a changed pod updates the referenced objects; a rejected pod references none", async () => {
  const world = begin();
  world.admit({});
  world.admit(USES_MAP, "b", { kind: "rejected", rejection: { reason: "No", message: "no" } });
  assert.equal(world.referencedObjects.size, 0);
  world.admit(USES_MAP);
  assert.deepEqual(world.referencedObjects.keys(), [MAP]);
  world.admit(USES_CLAIM);
  assert.deepEqual(world.referencedObjects.keys(), [CLAIM]);
});

test("objects of pods admitted before the loop starts are referenced when it starts", () => {
  const admittedPods = new LatestTable<string, AdmittedPod>();
  const referencedObjects = new LatestTable<string, KnownObject<ApiObject>>();
  const verdict = admittedVerdict(pod(USES_MAP));
  admittedPods.set("a", { uid: "a", pod: pod(USES_MAP), isStatic: false, firstSeenWallMs: 0, verdict });
  const { life, world, stop } = begin();
  const parts = { api: undefined, clock: life.clock, random: world.random, admittedPods, referencedObjects };
  void runReferencedObjects(parts, stop.signal);
  assert.deepEqual(referencedObjects.keys(), [MAP]);
});

test("[13.30] a claim is polled until it is bound, then its volume is read; neither is requested after that", async () => {
  const world = begin();
  world.bind(USES_CLAIM);
  world.admit(USES_CLAIM);
  await world.world.advance(20);
  assert.deepEqual(world.referencedObjects.get(CLAIM), { kind: "missing" });
  const metadata = { namespace: "default", name: "disk" };
  const claim = world.put(persistentVolumeClaims, { metadata, spec: { volumeName: "pv-1" } });
  await world.world.advance(5_000);
  assert.equal(world.referencedObjects.get(CLAIM)?.kind, "present");
  assert.equal(world.referencedObjects.get(VOLUME), undefined, "an unbound claim has no volume");
  world.put(persistentVolumes, { metadata: { name: "pv-1" }, spec: { claimRef: { uid: claim.metadata.uid } } });
  const bound = { kind: "merge", body: { status: { phase: "Bound" } } } as const;
  world.world.api.writes.patch(kindOf(persistentVolumeClaims), metadata, bound, "status", ADMIN);
  await world.world.advance(10_000);
  assert.equal(world.referencedObjects.get(VOLUME)?.kind, "present");
  assert.deepEqual(world.left(), [0, 0, 0]);
  const before = world.calls.length;
  await world.world.advance(3_600_000);
  assert.equal(world.calls.length, before, "a bound claim is not requested again");
  assert.ok(
    world.calls.every((call) => call.startsWith("GET ")),
    "a node may not watch claims or volumes",
  );
  world.admittedPods.delete("a");
  assert.deepEqual(world.referencedObjects.keys(), []);
});

test("[13.30] a missing claim is requested again with doubling waits from 0.5 s to 30 s", async () => {
  const world = begin();
  world.bind(USES_CLAIM);
  const times: number[] = [];
  const asked = () => world.calls.filter((call) => call.includes("persistentvolumeclaims")).length;
  world.admit(USES_CLAIM);
  for (let seen = 0; times.length < 12; ) {
    await world.world.advance(10);
    if (asked() === seen) continue;
    seen = asked();
    times.push(world.world.clock.monotonicMs());
  }
  const waits = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
  for (const [index, waitMs] of waits.entries()) {
    const plainMs = Math.min(500 * 2 ** index, 30_000);
    assert.ok(waitMs >= 0.75 * plainMs && waitMs <= 1.25 * plainMs + 20, `${index}: ${waitMs} ms`);
  }
  world.admittedPods.delete("a");
  await world.world.advance(10);
  assert.deepEqual(world.left(), [0, 0, 0]);
});

test("the loop ends with its signal and leaves no watch, call or timer", async () => {
  const world = begin();
  const spec = { ...USES_MAP, ...USES_CLAIM };
  world.bind(spec);
  world.admit(spec);
  await world.world.advance(1_000);
  assert.notDeepEqual(world.left(), [0, 0, 0]);
  world.stop.abort(new Error("shutting down"));
  await world.world.until(world.ended);
  assert.deepEqual(world.left(), [0, 0, 0]);
  world.admit(spec, "late");
  assert.equal(world.life.pendingCount, 0);
});

test("without an API server every referenced object is missing", () => {
  const world = begin({ standalone: true });
  world.admit({ ...USES_MAP, ...USES_CLAIM });
  assert.deepEqual(
    [MAP, CLAIM].map((key) => world.referencedObjects.get(key)),
    [{ kind: "missing" }, { kind: "missing" }],
  );
  world.admittedPods.delete("a");
  assert.equal(world.referencedObjects.size, 0);
});

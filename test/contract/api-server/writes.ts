/** create, update, patch and delete. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, Pod } from "../../../src/api/gen/core-v1.ts";
import { configMaps, namespaces, nodes, pods, services } from "../../../src/api/resources.ts";
import { ApiError, isAlreadyExists, isConflict, isNotFound } from "../../../src/ports/api-error.ts";
import type { ApiServer } from "../../../src/ports/api-server.ts";
import { type ApiWorld, configMap, forever, pod } from "./world.ts";

export function writeCases(world: () => ApiWorld): void {
  createCases(world);
  updateCases(world);
  patchCases(world);
  subresourceCases(world);
  deleteCases(world);
}

function createCases(world: () => ApiWorld): void {
  void test("create returns the object with the server's defaults", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(pods, pod(ns, "web"), forever);
    assert.equal(created.spec?.restartPolicy, "Always");
    assert.equal(created.status?.phase, "Pending");
    assert.match(created.metadata?.creationTimestamp ?? "", /^\d{4}-\d\d-\d\dT/);
  });

  void test("create with generateName gets a name from the server", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(configMaps, { metadata: { namespace: ns, generateName: "gen-" } }, forever);
    assert.match(created.metadata?.name ?? "", /^gen-.{5}$/);
  });

  void test("create of an existing object returns AlreadyExists, not Conflict", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(configMaps, configMap(ns, "a"), forever);
    const again = api.create(configMaps, configMap(ns, "a"), forever);
    await assert.rejects(again, (error) => isAlreadyExists(error) && !isConflict(error));
  });

  void test("create of an invalid object returns 422 and names the field", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const bad = api.create(pods, { metadata: { namespace: ns, name: "Bad_Name" }, spec: { containers: [] } }, forever);
    await assert.rejects(bad, (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.reason], [422, "Invalid"]);
      assert.match(error.message, /metadata\.name/);
      return true;
    });
  });

  void test("create in a missing namespace returns not found", async () => {
    await assert.rejects(world().api.create(configMaps, configMap("no-such-namespace", "a"), forever), isNotFound);
  });

  void test("preserves text of any language, empty values and keys such as __proto__", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const data: unknown = JSON.parse(
      '{"__proto__":"p","constructor":"c","toString":"t","greek":"λόγος","emoji":"🚢⚓","control":"\\u0001\\t\\r\\n","empty":"","line":"\\u2028"}',
    );
    const object = { metadata: { namespace: ns, name: "keys" }, data: data as Readonly<Record<string, string>> };
    await api.create(configMaps, object, forever);
    const got = await api.get(configMaps, { namespace: ns, name: "keys" }, forever);
    const byKey = ([a]: readonly [string, string], [b]: readonly [string, string]) => (a < b ? -1 : 1);
    assert.deepEqual(Object.entries(got.data ?? {}).sort(byKey), Object.entries(object.data).sort(byKey));
    assert.ok(Object.hasOwn(got.data ?? {}, "__proto__"));
  });

  void test("preserves binary data", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => 255 - index));
    const object = { metadata: { namespace: ns, name: "bytes" }, binaryData: { all: bytes.toString("base64") } };
    await api.create(configMaps, object, forever);
    const got = await api.get(configMaps, { namespace: ns, name: "bytes" }, forever);
    assert.deepEqual(Buffer.from(got.binaryData?.["all"] ?? "", "base64"), bytes);
  });

  void test("accepts and returns an object of the maximum size, and returns 422 above it", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const text = "0123456789abcdef".repeat(2 ** 16 - 8);
    await api.create(configMaps, configMap(ns, "large", { text }), forever);
    assert.equal((await api.get(configMaps, { namespace: ns, name: "large" }, forever)).data?.["text"], text);
    const above = api.create(configMaps, configMap(ns, "larger", { text: `${text}${"x".repeat(4096)}` }), forever);
    await assert.rejects(above, { status: 422 });
  });
}

function updateCases(world: () => ApiWorld): void {
  void test("update replaces the object and changes its resourceVersion", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const first = await api.create(configMaps, configMap(ns, "a", { old: "1" }), forever);
    const second = await api.update(configMaps, { ...first, data: { fresh: "2" } }, {}, forever);
    assert.deepEqual(second.data, { fresh: "2" });
    assert.notEqual(second.metadata?.resourceVersion, first.metadata?.resourceVersion);
    assert.equal(second.metadata?.uid, first.metadata?.uid);
  });

  void test("update with a stale resourceVersion returns Conflict and changes nothing", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const first = await api.create(configMaps, configMap(ns, "a"), forever);
    await api.update(configMaps, { ...first, data: { by: "one" } }, {}, forever);
    const stale = api.update(configMaps, { ...first, data: { by: "other" } }, {}, forever);
    await assert.rejects(stale, (error) => isConflict(error) && !isAlreadyExists(error));
    assert.deepEqual((await api.get(configMaps, { namespace: ns, name: "a" }, forever)).data, { by: "one" });
  });

  void test("update of a missing object returns not found", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await assert.rejects(api.update(configMaps, configMap(ns, "none"), {}, forever), isNotFound);
  });

  void test("an item of a list can be updated as received", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(configMaps, configMap(ns, "a"), forever);
    const page = await api.list(configMaps, { namespace: ns, fields: "metadata.name=a" }, {}, forever);
    const [item] = page.items;
    assert.ok(item !== undefined);
    const updated = await api.update(configMaps, { ...item, data: { from: "list" } }, {}, forever);
    assert.deepEqual(updated.data, { from: "list" });
  });
}

const named = (namespace: string, name: string) => ({ namespace, name });

async function podWithConditions(api: ApiServer, ns: string) {
  await api.create(pods, pod(ns, "web", { nodeName: "node-of-patches" }), forever);
  const conditions = ["Ready", "Initialized"].map((type) => ({ type, status: "False" }));
  await api.patch(
    pods,
    named(ns, "web"),
    { kind: "strategic", body: { status: { conditions } } },
    { subresource: "status" },
    forever,
  );
}

function patchCases(world: () => ApiWorld): void {
  void test("a strategic patch of the status merges conditions by their type", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await podWithConditions(api, ns);
    const body = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
    const patched = await api.patch(
      pods,
      named(ns, "web"),
      { kind: "strategic", body },
      { subresource: "status" },
      forever,
    );
    const found = new Map(patched.status?.conditions?.map(({ type, status }) => [type, status]));
    assert.deepEqual([found.get("Ready"), found.get("Initialized")], ["True", "False"]);
    assert.equal(patched.status?.phase, "Running");
  });

  void test("$patch: delete removes one element from a merged list", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await podWithConditions(api, ns);
    const body = { status: { conditions: [{ type: "Ready", $patch: "delete" }] } };
    const patched = await api.patch(
      pods,
      named(ns, "web"),
      { kind: "strategic", body },
      { subresource: "status" },
      forever,
    );
    const types = patched.status?.conditions?.map(({ type }) => type) ?? [];
    assert.deepEqual([types.includes("Ready"), types.includes("Initialized")], [false, true]);
  });

  void test("a merge patch removes null fields and replaces whole lists", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const metadata = { ...named(ns, "a"), finalizers: ["x.example/one", "x.example/two"] };
    await api.create(configMaps, { metadata, data: { keep: "1", drop: "2" } }, forever);
    const body = { metadata: { finalizers: ["x.example/three"] }, data: { drop: null, fresh: "3" } };
    const patched = await api.patch(configMaps, named(ns, "a"), { kind: "merge", body }, {}, forever);
    assert.deepEqual(patched.data, { keep: "1", fresh: "3" });
    assert.deepEqual(patched.metadata?.finalizers, ["x.example/three"]);
    await api.patch(
      configMaps,
      named(ns, "a"),
      { kind: "merge", body: { metadata: { finalizers: null } } },
      {},
      forever,
    );
  });

  void test("a patch with a stale resourceVersion returns Conflict", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const { metadata } = await api.create(configMaps, configMap(ns, "a"), forever);
    await api.patch(configMaps, named(ns, "a"), { kind: "merge", body: { data: { a: "1" } } }, {}, forever);
    const body = { metadata: { resourceVersion: metadata?.resourceVersion }, data: { a: "2" } };
    await assert.rejects(api.patch(configMaps, named(ns, "a"), { kind: "merge", body }, {}, forever), isConflict);
  });

  void test("a status write with another object's UID returns Conflict for an update and 422 for a patch", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(pods, pod(ns, "web"), forever);
    const uid = "11111111-2222-3333-4444-555555555555";
    const other = { ...created, metadata: { ...created.metadata, uid }, status: { phase: "Failed" } };
    await assert.rejects(api.update(pods, other, { subresource: "status" }, forever), isConflict);
    // The server treats a UID in a patch as an attempt to change it, not as a precondition.
    const body = { metadata: { uid }, status: { phase: "Failed" } };
    const patch = api.patch(pods, named(ns, "web"), { kind: "strategic", body }, { subresource: "status" }, forever);
    await assert.rejects(patch, { status: 422, reason: "Invalid" });
    assert.equal((await api.get(pods, named(ns, "web"), forever)).status?.phase, "Pending");
  });

  void test("a patch returns not found for a missing object, and 422 for an invalid result", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await assert.rejects(api.patch(pods, named(ns, "none"), { kind: "merge", body: {} }, {}, forever), isNotFound);
    await api.create(pods, pod(ns, "web"), forever);
    const body = { spec: { restartPolicy: "Sometimes" } };
    await assert.rejects(api.patch(pods, named(ns, "web"), { kind: "merge", body }, {}, forever), { status: 422 });
  });
}

function subresourceCases(world: () => ApiWorld): void {
  void test("a status update keeps the spec, and an object update keeps the status", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(pods, pod(ns, "web"), forever);
    const spec = { containers: [{ name: "main", image: "changed" }] };
    const afterStatus = await api.update(
      pods,
      { ...created, spec, status: { phase: "Failed" } },
      { subresource: "status" },
      forever,
    );
    const seen = [afterStatus.spec?.containers[0]?.image, afterStatus.status?.phase];
    assert.deepEqual(seen, ["busybox", "Failed"]);
    const labels = { app: "changed" };
    const again = { ...afterStatus, metadata: { ...afterStatus.metadata, labels }, status: { phase: "Running" } };
    const afterObject = await api.update(pods, again, {}, forever);
    assert.deepEqual([afterObject.metadata?.labels, afterObject.status?.phase], [labels, "Failed"]);
  });

  void test("a terminated container leaves that state only if its policy or a rule of the pod restarts it", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const container = (name: string, more: object = {}) => ({ name, image: "busybox", ...more });
    const rule = (action: string) => ({
      restartPolicy: "Never",
      restartPolicyRules: [{ action, exitCodes: { operator: "In", values: [42] } }],
    });
    const statusOf = (state: ContainerState) => ({
      containerStatuses: [{ name: "main", image: "busybox", imageID: "", ready: false, restartCount: 0, state }],
    });
    const restarts = async (name: string, spec: object, exitCode: number) => {
      const made = { ...pod(ns, name), spec: { restartPolicy: "Never", containers: [], ...spec } };
      const created = await api.create(pods, made, forever);
      const write = (to: Pod, state: ContainerState) =>
        api.update(pods, { ...to, status: statusOf(state) }, { subresource: "status" }, forever);
      const terminated = await write(created, { terminated: { exitCode } });
      return write(terminated, { running: {} }).then(
        () => "restarts",
        (error: ApiError) => `${error.status}: ${error.detail}`,
      );
    };
    const refused =
      /^422: .*status\.containerStatuses\[0\]\.state: Forbidden: may not be transitioned to non-terminated/;
    assert.match(await restarts("never", { containers: [container("main")] }, 42), refused);
    const ofItsOwn = { containers: [container("main", rule("Restart"))] };
    assert.match(await restarts("own-rule-0", ofItsOwn, 0), refused);
    assert.equal(await restarts("own-rule-42", ofItsOwn, 42), "restarts");
    const ofAll = { containers: [container("main"), container("other", rule("RestartAllContainers"))] };
    assert.equal(await restarts("rule-of-all", ofAll, 0), "restarts");
  });

  void test("patches the status of a cluster-scoped object", async () => {
    const { api } = world();
    const { metadata } = await api.create(nodes, { metadata: { generateName: "node-" } }, forever);
    const name = metadata?.name ?? "";
    const body = { status: { capacity: { pods: "110" }, conditions: [{ type: "Ready", status: "True" }] } };
    const patched = await api.patch(nodes, { name }, { kind: "strategic", body }, { subresource: "status" }, forever);
    assert.deepEqual([patched.status?.capacity, patched.status?.conditions?.[0]?.type], [{ pods: "110" }, "Ready"]);
    await api.delete(nodes, { name }, {}, forever);
  });

  void test("a pod is resized only through its resize subresource", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const { metadata } = await api.create(nodes, { metadata: { generateName: "node-" } }, forever);
    const nodeName = metadata?.name ?? "";
    const room = {
      kind: "merge",
      body: { status: { allocatable: { cpu: "4", memory: "4Gi", pods: "110" } } },
    } as const;
    await api.patch(nodes, { name: nodeName }, room, { subresource: "status" }, forever);
    const resources = (cpu: string) => ({ containers: [{ name: "main", resources: { requests: { cpu } } }] });
    const containers = [{ name: "main", image: "busybox", resources: { requests: { cpu: "100m" } } }];
    await api.create(pods, pod(ns, "web", { containers, nodeName }), forever);
    const patch = { kind: "strategic", body: { spec: resources("200m") } } as const;
    await assert.rejects(api.patch(pods, named(ns, "web"), patch, {}, forever), { status: 422 });
    const resized = await api.patch(pods, named(ns, "web"), patch, { subresource: "resize" }, forever);
    assert.equal(resized.spec?.containers[0]?.resources?.requests?.["cpu"], "200m");
    await api.delete(nodes, { name: nodeName }, {}, forever);
  });

  void test("an ephemeral container is added through the ephemeralcontainers subresource", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(pods, pod(ns, "web"), forever);
    const body = { spec: { ephemeralContainers: [{ name: "debug", image: "busybox" }] } };
    const patch = { kind: "strategic", body } as const;
    const patched = await api.patch(pods, named(ns, "web"), patch, { subresource: "ephemeralcontainers" }, forever);
    assert.equal(patched.spec?.ephemeralContainers?.[0]?.name, "debug");
  });

  void test("a subresource that the kind does not have returns not found", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(configMaps, configMap(ns, "a"), forever);
    const patch = { kind: "merge", body: {} } as const;
    await assert.rejects(api.patch(configMaps, named(ns, "a"), patch, { subresource: "status" }, forever), isNotFound);
  });
}

function deleteCases(world: () => ApiWorld): void {
  void test("delete removes an object without grace at once, and returns not found the second time", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(services, { metadata: named(ns, "a"), spec: { ports: [{ port: 80 }] } }, forever);
    await api.delete(services, named(ns, "a"), {}, forever);
    await assert.rejects(api.get(services, named(ns, "a"), forever), isNotFound);
    await assert.rejects(api.delete(services, named(ns, "a"), {}, forever), isNotFound);
  });

  void test("delete with another UID as precondition returns Conflict and keeps the object", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const { metadata } = await api.create(configMaps, configMap(ns, "a"), forever);
    const preconditions = { uid: "11111111-2222-3333-4444-555555555555" };
    await assert.rejects(api.delete(configMaps, named(ns, "a"), { preconditions }, forever), isConflict);
    const uid = metadata?.uid ?? "";
    await api.delete(configMaps, named(ns, "a"), { preconditions: { uid } }, forever);
  });

  void test("delete with a stale resourceVersion as precondition returns Conflict", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const { metadata } = await api.create(configMaps, configMap(ns, "a"), forever);
    await api.patch(configMaps, named(ns, "a"), { kind: "merge", body: { data: { a: "1" } } }, {}, forever);
    const preconditions = { resourceVersion: metadata?.resourceVersion ?? "" };
    await assert.rejects(api.delete(configMaps, named(ns, "a"), { preconditions }, forever), isConflict);
  });

  void test("delete of a bound pod sets deletionTimestamp, and delete with grace 0 removes it", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(pods, pod(ns, "web", { nodeName: "node-of-deletes" }), forever);
    await api.delete(pods, named(ns, "web"), { gracePeriodSeconds: 17 }, forever);
    const marked = await api.get(pods, named(ns, "web"), forever);
    assert.notEqual(marked.metadata?.deletionTimestamp, undefined);
    assert.equal(marked.metadata?.deletionGracePeriodSeconds, 17);
    const uid = created.metadata?.uid ?? "";
    await api.delete(pods, named(ns, "web"), { gracePeriodSeconds: 0, preconditions: { uid } }, forever);
    await assert.rejects(api.get(pods, named(ns, "web"), forever), isNotFound);
  });

  void test("delete of an unbound pod removes it at once, whatever the grace period", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(pods, pod(ns, "web"), forever);
    await api.delete(pods, named(ns, "web"), { gracePeriodSeconds: 30 }, forever);
    await assert.rejects(api.get(pods, named(ns, "web"), forever), isNotFound);
  });

  void test("a deleted object stays until its finalizer is removed", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    await api.create(configMaps, { metadata: { ...named(ns, "a"), finalizers: ["x.example/hold"] } }, forever);
    await api.delete(configMaps, named(ns, "a"), {}, forever);
    assert.ok((await api.get(configMaps, named(ns, "a"), forever)).metadata?.deletionTimestamp);
    await api.patch(
      configMaps,
      named(ns, "a"),
      { kind: "merge", body: { metadata: { finalizers: null } } },
      {},
      forever,
    );
    await assert.rejects(api.get(configMaps, named(ns, "a"), forever), isNotFound);
  });

  void test("Foreground and Orphan deletes add their finalizer for the garbage collector", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    for (const [propagation, finalizer] of [
      ["Foreground", "foregroundDeletion"],
      ["Orphan", "orphan"],
    ] as const) {
      await api.create(configMaps, configMap(ns, finalizer.toLowerCase()), forever);
      await api.delete(configMaps, named(ns, finalizer.toLowerCase()), { propagation }, forever);
      const left = await api.get(configMaps, named(ns, finalizer.toLowerCase()), forever);
      assert.deepEqual(left.metadata?.finalizers, [finalizer]);
    }
  });

  void test("delete of the kube-system namespace returns 403", async () => {
    await assert.rejects(world().api.delete(namespaces, { name: "kube-system" }, {}, forever), { status: 403 });
  });
}

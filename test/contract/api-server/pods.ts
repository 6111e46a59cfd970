/** What the API server does only for pods: grace periods, generations, kept status fields, and list merging. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, Pod } from "../../../src/api/gen/core-v1.ts";
import { nodes, pods } from "../../../src/api/resources.ts";
import { isNotFound } from "../../../src/ports/api-error.ts";
import { type ApiWorld, brief, forever, pod, take } from "./world.ts";

const named = (namespace: string, name = "web") => ({ namespace, name });

async function boundPod(world: ApiWorld, change: Partial<Pod["spec"]> = {}) {
  const namespace = await world.namespace();
  const created = await world.api.create(pods, pod(namespace, "web", { nodeName: "node-of-pods", ...change }), forever);
  const target = named(namespace);
  const patchStatus = (status: object) =>
    world.api.patch(pods, target, { kind: "strategic", body: { status } }, { subresource: "status" }, forever);
  return { created, target, patchStatus };
}

export function podCases(world: () => ApiWorld): void {
  graceCases(world);
  generationCases(world);
  statusCases(world);
}

function graceCases(world: () => ApiWorld): void {
  void test("a delete without gracePeriodSeconds uses the pod's terminationGracePeriodSeconds", async () => {
    const { target } = await boundPod(world(), { terminationGracePeriodSeconds: 47 });
    await world().api.delete(pods, target, {}, forever);
    assert.equal((await world().api.get(pods, target, forever)).metadata?.deletionGracePeriodSeconds, 47);
  });

  void test("later deletes only shorten the grace period, and deletionTimestamp moves with it", async () => {
    const { api } = world();
    const { target } = await boundPod(world());
    const mark = async (gracePeriodSeconds: number | undefined) => {
      await api.delete(pods, target, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }, forever);
      const { deletionTimestamp = "", deletionGracePeriodSeconds } =
        (await api.get(pods, target, forever)).metadata ?? {};
      return { endMs: Date.parse(deletionTimestamp), seconds: deletionGracePeriodSeconds };
    };
    const first = await mark(30);
    assert.equal(first.seconds, 30);
    assert.deepEqual(await mark(60), first);
    assert.deepEqual(await mark(undefined), first);
    assert.deepEqual(await mark(5), { endMs: first.endMs - 25_000, seconds: 5 });
    assert.equal((await mark(-1)).seconds, 1);
  });

  void test("deletes a Succeeded or Failed pod at once, even if it is bound to a node", async () => {
    for (const phase of ["Succeeded", "Failed"]) {
      const { target, patchStatus } = await boundPod(world());
      await patchStatus({ phase });
      await world().api.delete(pods, target, { gracePeriodSeconds: 30 }, forever);
      await assert.rejects(world().api.get(pods, target, forever), isNotFound);
    }
  });

  void test("a watch reports a graceful deletion, each shorter grace period down to 0, and the removal", async () => {
    const { api } = world();
    const { created, target } = await boundPod(world());
    const start = { kind: "after", resourceVersion: created.metadata?.resourceVersion ?? "" } as const;
    const seen = take(api.watch(pods, { namespace: target.namespace }, start, forever), 4);
    for (const gracePeriodSeconds of [30, 10, 0]) await api.delete(pods, target, { gracePeriodSeconds }, forever);
    assert.deepEqual(brief(await seen), ["modified web", "modified web", "modified web", "deleted web"]);
  });
}

function generationCases(world: () => ApiWorld): void {
  void test("metadata.generation grows only with spec changes and the first graceful delete", async () => {
    const { api } = world();
    const { created, target, patchStatus } = await boundPod(world());
    const generation = async () => (await api.get(pods, target, forever)).metadata?.generation;
    assert.equal(created.metadata?.generation, 1);
    await patchStatus({ phase: "Running" });
    assert.equal(await generation(), 1);
    const body = { spec: { containers: [{ name: "main", image: "busybox:2" }] } };
    await api.patch(pods, target, { kind: "strategic", body }, {}, forever);
    assert.equal(await generation(), 2);
    await api.delete(pods, target, { gracePeriodSeconds: 30 }, forever);
    assert.equal(await generation(), 3);
    await api.delete(pods, target, { gracePeriodSeconds: 10 }, forever);
    assert.equal(await generation(), 3);
  });

  void test("a write that changes nothing keeps the resourceVersion", async () => {
    const { target, patchStatus } = await boundPod(world());
    const first = await patchStatus({ phase: "Running", podIP: "198.18.0.9", podIPs: [{ ip: "198.18.0.9" }] });
    const second = await patchStatus({ phase: "Running" });
    assert.equal(second.metadata?.resourceVersion, first.metadata?.resourceVersion);
    const again = await world().api.update(pods, first, { subresource: "status" }, forever);
    assert.equal(again.metadata?.resourceVersion, first.metadata?.resourceVersion);
    assert.equal(
      (await world().api.get(pods, target, forever)).metadata?.resourceVersion,
      first.metadata?.resourceVersion,
    );
  });
}

function statusCases(world: () => ApiWorld): void {
  void test("create ignores the sent status and sets phase Pending and the QoS class", async () => {
    const { api, namespace } = world();
    const ns = await namespace();
    const created = await api.create(
      pods,
      { ...pod(ns, "web"), status: { phase: "Running", podIP: "1.2.3.4" } },
      forever,
    );
    assert.deepEqual([created.status?.phase, created.status?.podIP], ["Pending", undefined]);
    assert.equal(created.status?.qosClass, "BestEffort");
  });

  void test("a status update without qosClass and observedGeneration keeps the stored ones", async () => {
    const { target, patchStatus } = await boundPod(world());
    const condition = { type: "Ready", status: "True", observedGeneration: 1 };
    const first = await patchStatus({ observedGeneration: 1, conditions: [condition] });
    const bare = { ...first, status: { phase: "Running", conditions: [{ type: "Ready", status: "False" }] } };
    await world().api.update(pods, bare, { subresource: "status" }, forever);
    const { status } = await world().api.get(pods, target, forever);
    const [ready] = status?.conditions ?? [];
    assert.deepEqual([status?.qosClass, status?.observedGeneration, ready?.observedGeneration], ["BestEffort", 1, 1]);
    assert.equal(ready?.status, "False");
  });

  void test("a status patch changes labels but not ownerReferences", async () => {
    const { target } = await boundPod(world());
    const ownerReferences = [
      { apiVersion: "v1", kind: "Node", name: "n", uid: "11111111-2222-3333-4444-555555555555" },
    ];
    const body = { metadata: { labels: { app: "other" }, ownerReferences } };
    const patch = { kind: "strategic", body } as const;
    const { metadata } = await world().api.patch(pods, target, patch, { subresource: "status" }, forever);
    assert.deepEqual([metadata?.labels, metadata?.ownerReferences], [{ app: "other" }, undefined]);
  });

  void test("a strategic patch merges status lists that have a merge key and replaces the others", async () => {
    const { patchStatus } = await boundPod(world());
    const container = (name: string) => ({ name, image: "a", imageID: "", ready: false, restartCount: 0 });
    await patchStatus({
      conditions: ["A", "B"].map((type) => ({ type, status: "True" })),
      containerStatuses: [container("main"), container("side")],
    });
    const { status } = await patchStatus({
      "$setElementOrder/conditions": [{ type: "C" }, { type: "B" }, { type: "A" }],
      conditions: [
        { type: "C", status: "True" },
        { type: "A", reason: "x" },
      ],
      containerStatuses: [container("main")],
    });
    const conditions = status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]);
    assert.deepEqual(conditions, [
      ["C", "True", undefined],
      ["B", "True", undefined],
      ["A", "True", "x"],
    ]);
    assert.deepEqual(
      status?.containerStatuses?.map(({ name }) => name),
      ["main"],
    );
  });

  void test("a patch without $setElementOrder puts new list elements first", async () => {
    const { patchStatus } = await boundPod(world());
    await patchStatus({ conditions: ["A", "B"].map((type) => ({ type, status: "True" })) });
    const { status } = await patchStatus({ conditions: ["C", "B"].map((type) => ({ type, status: "False" })) });
    const conditions = status?.conditions?.map((condition) => `${condition.type} ${condition.status}`);
    assert.deepEqual(conditions, ["C False", "A True", "B False"]);
  });

  void test("podIP and podIPs stay consistent; when a write contradicts itself, podIP wins", async () => {
    const { patchStatus } = await boundPod(world());
    const addresses = ({ status }: Pod) => [status?.podIP, status?.podIPs?.map(({ ip }) => ip)];
    const first = await patchStatus({ podIPs: [{ ip: "198.18.0.1" }] });
    assert.deepEqual(addresses(first), ["198.18.0.1", ["198.18.0.1"]]);
    assert.deepEqual(addresses(await patchStatus({ podIPs: [{ ip: "fd00::1" }] })), ["198.18.0.1", ["198.18.0.1"]]);
    assert.deepEqual(addresses(await patchStatus({ podIP: "198.18.0.2" })), ["198.18.0.2", ["198.18.0.2"]]);
    const both = { podIP: "198.18.0.3", podIPs: [{ ip: "198.18.0.3" }, { ip: "fd00::3" }] };
    // Merged with the stored address, the list has two IPv4 addresses.
    await assert.rejects(patchStatus(both), { status: 422 });
    const podIPs = [...both.podIPs, { ip: "198.18.0.2", $patch: "delete" }];
    assert.deepEqual(addresses(await patchStatus({ ...both, podIPs })), ["198.18.0.3", ["198.18.0.3", "fd00::3"]]);
  });

  void test("rejects a running state for a container that exited 0 under restartPolicy OnFailure", async () => {
    const { patchStatus } = await boundPod(world(), { restartPolicy: "OnFailure" });
    const reported = (state: ContainerState) =>
      patchStatus({
        containerStatuses: [{ name: "main", image: "", imageID: "", ready: false, restartCount: 0, state }],
      });
    await reported({ terminated: { exitCode: 1 } });
    await reported({ running: {} });
    await reported({ terminated: { exitCode: 0 } });
    await assert.rejects(reported({ running: {} }), { status: 422 });
  });

  void test("$patch: replace replaces a list, and a Node is created with its status", async () => {
    const { api } = world();
    const address = (type: string, value: string) => ({ type, address: value });
    const addresses = [address("InternalIP", "198.18.0.1"), address("Hostname", "a")];
    const made = await api.create(nodes, { metadata: { generateName: "node-" }, status: { addresses } }, forever);
    const target = { name: made.metadata?.name ?? "" };
    assert.deepEqual(made.status?.addresses, addresses);
    const body = { status: { addresses: [address("InternalIP", "198.18.0.2"), { $patch: "replace" }] } };
    const patched = await api.patch(nodes, target, { kind: "strategic", body }, { subresource: "status" }, forever);
    assert.deepEqual(patched.status?.addresses, [address("InternalIP", "198.18.0.2")]);
    await api.delete(nodes, target, {}, forever);
  });

  void test("a list at a future resourceVersion returns 504", async () => {
    const call = world().api.list(pods, {}, { resourceVersion: "999999999999" }, forever);
    await assert.rejects(call, { status: 504 });
  });
}

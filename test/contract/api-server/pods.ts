/** What the server does with pods, and only with pods: grace, generations, what of a status stays, how its lists are merged. */
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
  void test("without a grace of its own a deletion gets the pod's", async () => {
    const { target } = await boundPod(world(), { terminationGracePeriodSeconds: 47 });
    await world().api.delete(pods, target, {}, forever);
    assert.equal((await world().api.get(pods, target, forever)).metadata?.deletionGracePeriodSeconds, 47);
  });

  void test("grace only shrinks, and the time of the end moves with it", async () => {
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

  void test("a pod that has ended needs no grace, wherever it is bound", async () => {
    for (const phase of ["Succeeded", "Failed"]) {
      const { target, patchStatus } = await boundPod(world());
      await patchStatus({ phase });
      await world().api.delete(pods, target, { gracePeriodSeconds: 30 }, forever);
      await assert.rejects(world().api.get(pods, target, forever), isNotFound);
    }
  });

  void test("who watches sees the mark, each shrinking, also that to nothing, and the end", async () => {
    const { api } = world();
    const { created, target } = await boundPod(world());
    const start = { kind: "after", resourceVersion: created.metadata?.resourceVersion ?? "" } as const;
    const seen = take(api.watch(pods, { namespace: target.namespace }, start, forever), 4);
    for (const gracePeriodSeconds of [30, 10, 0]) await api.delete(pods, target, { gracePeriodSeconds }, forever);
    assert.deepEqual(brief(await seen), ["modified web", "modified web", "modified web", "deleted web"]);
  });
}

function generationCases(world: () => ApiWorld): void {
  void test("the generation counts changes of the spec and the first mark of a deletion, nothing else", async () => {
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

  void test("a write that changes nothing makes no version", async () => {
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
  void test("a new pod's status is the server's, whatever was sent", async () => {
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

  void test("a status without its class and generations keeps those it had", async () => {
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

  void test("labels can be written with the status, owners cannot", async () => {
    const { target } = await boundPod(world());
    const ownerReferences = [
      { apiVersion: "v1", kind: "Node", name: "n", uid: "11111111-2222-3333-4444-555555555555" },
    ];
    const body = { metadata: { labels: { app: "other" }, ownerReferences } };
    const patch = { kind: "strategic", body } as const;
    const { metadata } = await world().api.patch(pods, target, patch, { subresource: "status" }, forever);
    assert.deepEqual([metadata?.labels, metadata?.ownerReferences], [{ app: "other" }, undefined]);
  });

  void test("lists of a status are merged by their key where they have one, replaced where not", async () => {
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

  void test("a patch without an order puts what is new first", async () => {
    const { patchStatus } = await boundPod(world());
    await patchStatus({ conditions: ["A", "B"].map((type) => ({ type, status: "True" })) });
    const { status } = await patchStatus({ conditions: ["C", "B"].map((type) => ({ type, status: "False" })) });
    const conditions = status?.conditions?.map((condition) => `${condition.type} ${condition.status}`);
    assert.deepEqual(conditions, ["C False", "A True", "B False"]);
  });

  void test("a pod's address and its list of addresses agree; where a write says otherwise the single one counts", async () => {
    const { patchStatus } = await boundPod(world());
    const addresses = ({ status }: Pod) => [status?.podIP, status?.podIPs?.map(({ ip }) => ip)];
    const first = await patchStatus({ podIPs: [{ ip: "198.18.0.1" }] });
    assert.deepEqual(addresses(first), ["198.18.0.1", ["198.18.0.1"]]);
    assert.deepEqual(addresses(await patchStatus({ podIPs: [{ ip: "fd00::1" }] })), ["198.18.0.1", ["198.18.0.1"]]);
    assert.deepEqual(addresses(await patchStatus({ podIP: "198.18.0.2" })), ["198.18.0.2", ["198.18.0.2"]]);
    const both = { podIP: "198.18.0.3", podIPs: [{ ip: "198.18.0.3" }, { ip: "fd00::3" }] };
    // Merged with the old one these are two of one family.
    await assert.rejects(patchStatus(both), { status: 422 });
    const podIPs = [...both.podIPs, { ip: "198.18.0.2", $patch: "delete" }];
    assert.deepEqual(addresses(await patchStatus({ ...both, podIPs })), ["198.18.0.3", ["198.18.0.3", "fd00::3"]]);
  });

  void test("a container that ended and is not run again stays ended", async () => {
    const { patchStatus } = await boundPod(world(), { restartPolicy: "OnFailure" });
    const told = (state: ContainerState) =>
      patchStatus({
        containerStatuses: [{ name: "main", image: "", imageID: "", ready: false, restartCount: 0, state }],
      });
    await told({ terminated: { exitCode: 1 } });
    await told({ running: {} });
    await told({ terminated: { exitCode: 0 } });
    await assert.rejects(told({ running: {} }), { status: 422 });
  });

  void test("a list can be ordered replaced, and a node brings its status with it", async () => {
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

  void test("a list from a version that is not there yet times out", async () => {
    const call = world().api.list(pods, {}, { resourceVersion: "999999999999" }, forever);
    await assert.rejects(call, { status: 504 });
  });
}

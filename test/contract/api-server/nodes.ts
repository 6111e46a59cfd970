/** What the API server authorizes a node to do with its Node, Lease, pods, mirror pods, and referenced objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { TokenRequest } from "../../../src/api/gen/authentication-v1.ts";
import type { Pod } from "../../../src/api/gen/core-v1.ts";
import { leases, nodes, pods, secrets, serviceAccounts } from "../../../src/api/resources.ts";
import { isNotFound } from "../../../src/ports/api-error.ts";
import { type ApiWorld, forever, pod, take } from "./world.ts";

const FORBIDDEN = { status: 403, reason: "Forbidden" };
const TRIES_MAX = 50;
let made = 0;

/** Retries, because the real API server authorizes access to new pods and nodes only after a short delay. */
async function soon<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (tries === TRIES_MAX) throw error;
      await setTimeout(100);
    }
  }
}

/** A node with one pod bound to it, and a pod bound to another node. */
async function nodeWithPods(world: ApiWorld) {
  made += 1;
  const name = `contract-node-${made}`;
  const node = await world.asNode(name);
  const own = await node.create(nodes, { metadata: { name } }, forever);
  const namespace = await world.namespace();
  const theirs = { namespace, name: "theirs" };
  const ours = { namespace, name: "ours" };
  await world.api.create(pods, pod(namespace, "ours", { nodeName: name }), forever);
  await world.api.create(pods, pod(namespace, "theirs", { nodeName: "another-node" }), forever);
  const owner = { apiVersion: "v1", kind: "Node", name, uid: own.metadata?.uid ?? "", controller: true };
  const mirror: Pod = {
    metadata: {
      namespace,
      name: "static",
      annotations: { "kubernetes.io/config.mirror": "hash", "kubernetes.io/config.source": "file" },
      ownerReferences: [owner],
    },
    spec: { nodeName: name, containers: [{ name: "main", image: "busybox" }] },
  };
  return { name, node, namespace, ours, theirs, mirror };
}

export function nodeCases(world: () => ApiWorld): void {
  ownCases(world);
  podCases(world);
  mirrorCases(world);
  referenceCases(world);
}

function ownCases(world: () => ApiWorld): void {
  void test("a node creates and updates only its own Node, and neither its taints nor restricted labels", async () => {
    const { name, node } = await nodeWithPods(world());
    const status = { kind: "merge", body: { status: { nodeInfo: { machineID: "m" } } } } as const;
    await node.patch(nodes, { name }, status, { subresource: "status" }, forever);
    await assert.rejects(node.create(nodes, { metadata: { name: `${name}-other` } }, forever), FORBIDDEN);
    for (const body of [
      { metadata: { labels: { "node-restriction.kubernetes.io/x": "y" } } },
      { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } },
    ]) {
      await assert.rejects(node.patch(nodes, { name }, { kind: "merge", body }, {}, forever), FORBIDDEN);
    }
  });

  void test("a node creates and renews only the Lease with its name in kube-node-lease", async () => {
    const { name, node, namespace } = await nodeWithPods(world());
    const metadata = { namespace: "kube-node-lease", name };
    const spec = { holderIdentity: name, leaseDurationSeconds: 40 };
    const lease = await node.create(leases, { metadata, spec }, forever);
    await node.update(leases, { ...lease, spec: { ...spec, renewTime: "2026-01-01T00:00:00.000000Z" } }, {}, forever);
    await assert.rejects(
      node.create(leases, { metadata: { ...metadata, name: `${name}-other` }, spec }, forever),
      FORBIDDEN,
    );
    await assert.rejects(node.create(leases, { metadata: { namespace, name }, spec }, forever), FORBIDDEN);
  });
}

function podCases(world: () => ApiWorld): void {
  void test("a node lists and watches its own pods only", async () => {
    const { name, node } = await nodeWithPods(world());
    const fields = `spec.nodeName=${name}`;
    const { items } = await node.list(pods, { fields }, {}, forever);
    assert.deepEqual(
      items.map((item) => item.metadata?.name),
      ["ours"],
    );
    const [event] = await take(node.watch(pods, { fields }, { kind: "initialEvents" }, forever), 1);
    assert.equal(event?.kind, "added");
    await assert.rejects(node.list(pods, {}, {}, forever), FORBIDDEN);
    await assert.rejects(take(node.watch(pods, {}, { kind: "initialEvents" }, forever), 1), FORBIDDEN);
  });

  void test("a node updates only the status of its own pods", async () => {
    const { node, ours, theirs } = await nodeWithPods(world());
    const status = { kind: "strategic", body: { status: { phase: "Running" } } } as const;
    await node.patch(pods, ours, status, { subresource: "status" }, forever);
    await assert.rejects(node.patch(pods, theirs, status, { subresource: "status" }, forever), FORBIDDEN);
    const labels = { kind: "strategic", body: { metadata: { labels: { a: "b" } } } } as const;
    await assert.rejects(node.patch(pods, ours, labels, { subresource: "status" }, forever), FORBIDDEN);
    await assert.rejects(node.patch(pods, ours, labels, {}, forever), FORBIDDEN);
  });

  void test("a node deletes its own pods and no others", async () => {
    const { node, ours, theirs } = await nodeWithPods(world());
    await soon(() => node.delete(pods, ours, { gracePeriodSeconds: 0 }, forever));
    await assert.rejects(world().api.get(pods, ours, forever), isNotFound);
    await assert.rejects(node.delete(pods, theirs, { gracePeriodSeconds: 0 }, forever), FORBIDDEN);
  });
}

function mirrorCases(world: () => ApiWorld): void {
  void test("a node creates only mirror pods that name it as owner and are bound to it", async () => {
    const { node, mirror, namespace, name } = await nodeWithPods(world());
    const { ownerReferences: _, ...ownerless } = mirror.metadata ?? {};
    await assert.rejects(node.create(pods, pod(namespace, "plain", { nodeName: name }), forever), FORBIDDEN);
    const made = await soon(() => node.create(pods, mirror, forever));
    assert.equal(made.spec?.serviceAccountName, undefined);
    await assert.rejects(
      node.create(pods, { ...mirror, metadata: { ...ownerless, name: "ownerless" } }, forever),
      FORBIDDEN,
    );
    const elsewhere = { ...mirror, metadata: { ...mirror.metadata, name: "elsewhere" } };
    const spec = { containers: [{ name: "main", image: "busybox" }], nodeName: "another-node" };
    await assert.rejects(node.create(pods, { ...elsewhere, spec }, forever), FORBIDDEN);
  });

  void test("rejects a mirror pod that references a Secret", async () => {
    const { node, mirror } = await nodeWithPods(world());
    const volumes = [{ name: "v", secret: { secretName: "s" } }];
    const spec = { containers: [{ name: "main", image: "busybox" }], ...mirror.spec, volumes };
    await assert.rejects(node.create(pods, { ...mirror, spec }, forever), FORBIDDEN);
  });
}

function referenceCases(world: () => ApiWorld): void {
  void test("a node reads only Secrets that its pods reference", async () => {
    const { node, namespace, name } = await nodeWithPods(world());
    for (const secret of ["used", "unused"])
      await world().api.create(secrets, { metadata: { namespace, name: secret } }, forever);
    const volumes = [{ name: "v", secret: { secretName: "used" } }];
    await world().api.create(pods, pod(namespace, "reader", { nodeName: name, volumes }), forever);
    const read = (secret: string) => node.get(secrets, { namespace, name: secret }, forever);
    assert.equal((await soon(() => read("used"))).metadata?.name, "used");
    await assert.rejects(read("unused"), FORBIDDEN);
  });

  void test("a node requests only tokens bound to its own pods", async () => {
    const { node, ours, theirs, namespace } = await nodeWithPods(world());
    const ask = async (target: typeof ours | undefined) => {
      const bound = target && (await world().api.get(pods, target, forever));
      const boundObjectRef = bound && {
        apiVersion: "v1",
        kind: "Pod",
        name: target.name,
        uid: bound.metadata?.uid ?? "",
      };
      const spec = { audiences: [], expirationSeconds: 3600, ...(boundObjectRef && { boundObjectRef }) };
      const question: TokenRequest = { spec };
      return node.ask<TokenRequest>(serviceAccounts, { namespace, name: "default" }, "token", question, forever);
    };
    assert.notEqual((await soon(() => ask(ours))).status?.token ?? "", "");
    await assert.rejects(ask(theirs), FORBIDDEN);
    await assert.rejects(ask(undefined), FORBIDDEN);
  });
}

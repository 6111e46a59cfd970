import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeOptions, nodeSnapshot } from "../../../test/support/node-world.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import type { NodeSnapshot } from "../../domain/node/node-status.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import { LocalNode } from "./local-node.ts";

const { signal } = new AbortController();

function local(...snapshots: readonly NodeSnapshot[]) {
  const ownNode = new LatestCell<OwnNode>({ kind: "unknown" });
  const left = [...snapshots];
  const node = new LocalNode({
    ownNode,
    snapshots: { read: async () => left.shift() ?? assert.fail("no further snapshot is read") },
    registration: {
      labels: { zone: "a" },
      taints: [],
      providerId: "",
      controllerAttach: true,
      resetExtendedResources: false,
    },
    options: nodeOptions(),
  });
  return { ownNode, node };
}

test("without the API server's copy the initial Node is built from one snapshot", async () => {
  const { node } = local(nodeSnapshot());
  const first = await node.read(signal);
  assert.equal(first.metadata?.labels?.["zone"], "a");
  assert.deepEqual(first.status?.addresses, [{ type: "InternalIP", address: "192.0.2.1" }]);
  assert.equal(await node.read(signal), first);
});

test("the API server's copy is preferred, and the initial Node is used again once the API server has none", async () => {
  const { node, ownNode } = local(nodeSnapshot());
  const known = { metadata: { name: "n1", labels: { zone: "b" } } };
  ownNode.set({ kind: "present", node: known });
  assert.equal(await node.read(signal), known);
  ownNode.set({ kind: "absent" });
  assert.equal((await node.read(signal)).metadata?.labels?.["zone"], "a");
});

test("a Node built without the machine's facts is not cached", async () => {
  const { node } = local(nodeSnapshot({ machine: undefined }), nodeSnapshot());
  assert.equal((await node.read(signal)).status?.allocatable?.["pods"], undefined);
  assert.equal((await node.read(signal)).status?.allocatable?.["pods"], "110");
});

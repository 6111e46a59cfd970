import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { NodeApi } from "../../../test/support/node-api.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { NO_NOT_READY_REASONS, type NotReadyReasons } from "../../domain/node/node-status.ts";
import type { OwnNode } from "../../domain/node/own-node.ts";
import { ApiError, ApiUnreachableError } from "../../ports/api-error.ts";
import { runCsiNode } from "./csi-node.ts";

const HELD = { storage: "CSINode is not yet initialized", shutdown: undefined };

function world() {
  const clock = new ManualClock();
  const api = new NodeApi();
  const ownNode = new LatestCell<OwnNode>({ kind: "unknown" });
  const nodeNotReadyReasons = new LatestCell<NotReadyReasons>(NO_NOT_READY_REASONS);
  const stop = new AbortController();
  const running = runCsiNode({ api, clock, log: keptLog(), ownNode, nodeNotReadyReasons, nodeName: "n1" }, stop.signal);
  const appear = () => ownNode.set({ kind: "present", node: { metadata: { name: "n1", uid: "u1" } } });
  return { clock, api, nodeNotReadyReasons, stop, running, appear };
}

test("[13.26] storage holds the node until its CSINode exists, owned by the Node and without drivers", async () => {
  const { clock, api, nodeNotReadyReasons, running, appear } = world();
  api.failures.set("create csinodes", [new ApiUnreachableError("CREATE", "connect ECONNREFUSED", false)]);
  await clock.advance(1_000);
  assert.deepEqual([nodeNotReadyReasons.value, api.requests], [HELD, []], "there is no Node yet that could own it");
  appear();
  await clock.advance(50);
  assert.deepEqual([nodeNotReadyReasons.value, api.csiNode], [HELD, undefined]);
  await clock.advance(1_000);
  await running;
  assert.deepEqual(nodeNotReadyReasons.value, NO_NOT_READY_REASONS);
  const { metadata, spec } = api.csiNode ?? {};
  assert.deepEqual(metadata?.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "u1" }]);
  assert.match(
    metadata?.annotations?.["storage.alpha.kubernetes.io/migrated-plugins"] ?? "",
    /kubernetes\.io\/aws-ebs,/,
  );
  assert.deepEqual(spec, { drivers: [] });
});

test("[13.26] AlreadyExists on create releases the node", async () => {
  const { clock, api, nodeNotReadyReasons, running, appear } = world();
  api.failures.set("create csinodes", [new ApiError("CREATE", 409, "AlreadyExists", "it is there")]);
  appear();
  await clock.advance(50);
  await running;
  assert.deepEqual(nodeNotReadyReasons.value, NO_NOT_READY_REASONS);
});

test("[27.4.5] drivers and annotations of an existing CSINode stay, and the missing annotation is added", async () => {
  const { clock, api, running, appear } = world();
  const drivers = [{ name: "disk.example.com", nodeID: "d-1", topologyKeys: [] }];
  api.put("csinodes", { metadata: { name: "n1", annotations: { theirs: "kept" } }, spec: { drivers } });
  appear();
  await clock.advance(50);
  await running;
  assert.deepEqual(api.requests, ["get csinodes", "update csinodes"]);
  assert.deepEqual(api.csiNode?.spec, { drivers });
  assert.deepEqual(Object.keys(api.csiNode?.metadata?.annotations ?? {}), [
    "theirs",
    "storage.alpha.kubernetes.io/migrated-plugins",
  ]);
});

test("a shutdown during retries leaves no timer", async () => {
  const { clock, api, stop, running, appear } = world();
  api.failures.set("get csinodes", [new ApiUnreachableError("GET", "connect ECONNREFUSED", false)]);
  appear();
  await clock.advance(50);
  stop.abort(new Error("shutting down"));
  await running;
  assert.equal(clock.timersPending, 0);
});

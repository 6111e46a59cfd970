import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_CERTIFICATE } from "../identity/certificate-state.ts";
import { type ClusterInputs, nodeWaits, type WaitInputs } from "./node-waits.ts";
import type { RuntimeHealth } from "./runtime-health.ts";

const healthy: RuntimeHealth = {
  kind: "answered",
  readiness: "ready",
  troubles: [],
  version: { name: "containerd", version: "2", apiVersion: "v1" },
  status: {
    conditions: ["RuntimeReady", "NetworkReady"].map((type) => ({ type, status: true, reason: "", message: "" })),
    handlers: [],
  },
} as unknown as RuntimeHealth;

const node = { metadata: { name: "n1" }, spec: {} };
const cluster: ClusterInputs = {
  registration: { kind: "registered", node, reported: true },
  ownNode: { kind: "present", node },
  notReadyReasons: { storage: undefined },
  reportTrouble: "",
  clientCertificate: undefined,
  servingCertificate: undefined,
};
const inputs: WaitInputs = {
  nowWallMs: 0,
  runtime: healthy,
  qosCgroups: { kind: "ready" },
  sourcesReady: true,
  cluster,
};
const waits = (change: Partial<WaitInputs>) => nodeWaits({ ...inputs, ...change }).map((w) => `${w.what}: ${w.why}`);
const ofCluster = (change: Partial<ClusterInputs>) => waits({ cluster: { ...cluster, ...change } });

test("a node with everything it needs waits for nothing, with and without an API server", () => {
  assert.deepEqual(waits({}), []);
  assert.deepEqual(waits({ cluster: undefined }), []);
});

test("a node waits for its runtime, its cgroups and its pod sources", () => {
  const [runtime] = waits({ runtime: { kind: "unknown", troubles: [] } });
  assert.match(runtime ?? "", /^the container runtime: container runtime status check may not have completed yet; /);
  assert.deepEqual(waits({ qosCgroups: { kind: "failing", trouble: "read-only" } }), [
    "the cgroups of the node: cgroups cannot be set up: read-only",
  ]);
  assert.equal(waits({ sourcesReady: false }).length, 1);
});

test("a node of a cluster waits for its registration, with the error of the last attempt", () => {
  assert.deepEqual(ofCluster({ registration: { kind: "pending" } }), [
    "the Node: the API server has not accepted its registration yet",
  ]);
  assert.deepEqual(ofCluster({ registration: { kind: "pending", why: "connection refused" } }), [
    "the Node: its registration failed: connection refused",
  ]);
});

test("a node of a cluster waits for its Node, its status report, its CSINode and its certificates", () => {
  assert.match(ofCluster({ ownNode: { kind: "absent" } }).join(), /^the Node: it does not exist on the API server/);
  assert.deepEqual(ofCluster({ ownNode: { kind: "unknown" } }), ["the Node: the API server has not returned it yet"]);
  assert.deepEqual(ofCluster({ reportTrouble: "timeout" }), ["the status of the Node: timeout"]);
  assert.deepEqual(ofCluster({ notReadyReasons: { storage: "CSINode is not yet initialized" } }), [
    "the CSINode: CSINode is not yet initialized",
  ]);
  assert.deepEqual(
    ofCluster({ clientCertificate: NO_CERTIFICATE, servingCertificate: NO_CERTIFICATE }).map((w) => w.split(":")[0]),
    ["a client certificate", "a serving certificate"],
  );
});

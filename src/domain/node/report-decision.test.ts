import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeOptions, nodeSnapshot } from "../../../test/support/node-world.ts";
import type { Node } from "../../api/gen/core-v1.ts";
import { LEASE_NAMESPACE, newLease, renewEveryMs, renewedLease } from "./lease.ts";
import { updatedNode } from "./node-status.ts";
import { decideReport, nextLookMs, nodeChanged } from "./report-decision.ts";

const base = { changed: false, last: { atMs: 0, delayMs: 0 }, nowMs: 0, reportEveryMs: 300_000, fraction: 0 };

for (const [name, change, want] of [
  ["nothing new", { nowMs: 299_999 }, { kind: "skip" }],
  ["the period is over", { nowMs: 300_000 }, { kind: "report", delayMs: 0 }],
  ["a change, spread early", { changed: true }, { kind: "report", delayMs: -150_000 }],
  ["a change, spread late", { changed: true, fraction: 1 }, { kind: "report", delayMs: 150_000 }],
  ["the first of this process", { last: undefined, fraction: 0.5 }, { kind: "report", delayMs: 0 }],
  ["a spread period, early", { last: { atMs: 0, delayMs: -150_000 }, nowMs: 150_000 }, { kind: "report", delayMs: 0 }],
  ["a spread period, late", { last: { atMs: 0, delayMs: 150_000 }, nowMs: 300_000 }, { kind: "skip" }],
] as const) {
  test(`[3.13] ${name}`, () => assert.deepEqual(decideReport({ ...base, ...change }), want));
}

test("[3.13] the look comes after ten seconds and up to 4 % more", () => {
  assert.deepEqual(
    [0, 0.5, 1].map((fraction) => nextLookMs(10_000, fraction)),
    [10_000, 10_200, 10_400],
  );
});

const node = (nowWallMs = 0): Node => updatedNode({}, nodeSnapshot({ nowWallMs }), nodeOptions()).node;
const withStatus = (change: NonNullable<Node["status"]>): Node => ({
  ...node(),
  status: { ...node().status, ...change },
});

test("[3.13] a newer heartbeat, another order and an empty list are no change; anything else is", () => {
  const known = node();
  const later = updatedNode(known, nodeSnapshot({ nowWallMs: 60_000 }), nodeOptions()).node;
  assert.equal(nodeChanged(known, later), false);
  assert.equal(nodeChanged(known, withStatus({ conditions: known.status?.conditions?.toReversed() ?? [] })), false);
  assert.equal(nodeChanged(known, withStatus({ volumesInUse: [] })), false);
  assert.equal(nodeChanged(known, withStatus({ volumesInUse: ["a"] })), true);
  assert.equal(nodeChanged(known, withStatus({ capacity: {} })), true);
  assert.equal(nodeChanged(known, { ...known, metadata: { ...known.metadata, labels: {} } }), true);
  const nameless = { images: [{ names: null as never, sizeBytes: 1 }] };
  assert.equal(nodeChanged(withStatus(nameless), withStatus({ images: [{ names: [], sizeBytes: 1 }] })), false);
});

const options = { nodeName: "n1", leaseDurationSeconds: 40 };
const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "uid-1" };

test("[3.15] a new lease is the node's own, for 40 s, to the microsecond", () => {
  assert.deepEqual(newLease(options, "uid-1", Date.UTC(2026, 0, 1) + 1.25), {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "n1", namespace: LEASE_NAMESPACE, ownerReferences: [owner] },
    spec: { holderIdentity: "n1", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.001250Z" },
  });
});

test("[3.15] [27.4.2] a renewal keeps holder, owner and version, and adds an owner where there is none", () => {
  const found = {
    metadata: { name: "n1", resourceVersion: "7", ownerReferences: [{ ...owner, uid: "uid-0" }] },
    spec: { holderIdentity: "n1", leaseDurationSeconds: 99, acquireTime: "x" },
  };
  const renewed = renewedLease(found, options, "uid-1", 0);
  assert.deepEqual(renewed.metadata, found.metadata);
  assert.deepEqual(renewed.spec, {
    holderIdentity: "n1",
    leaseDurationSeconds: 40,
    acquireTime: "x",
    renewTime: "1970-01-01T00:00:00.000000Z",
  });
  assert.deepEqual(renewedLease({ metadata: {} }, options, "uid-1", 0).metadata?.ownerReferences, [owner]);
});

test("[3.15] it is renewed after a quarter of its life and up to 4 % more", () => {
  assert.deepEqual([renewEveryMs(options, 0), renewEveryMs(options, 1)], [10_000, 10_400]);
});

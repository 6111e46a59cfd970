import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeOptions, nodeSnapshot } from "../../../test/support/node-world.ts";
import type { Node } from "../../api/gen/core-v1.ts";
import { LEASE_NAMESPACE, newLease, renewEveryMs, renewedLease } from "./lease.ts";
import { updatedNode } from "./node-status.ts";
import { decideReport, nextLookMs, nodeChanged } from "./report-decision.ts";

const base = { changed: false, last: { atMs: 0, delayMs: 0 }, nowMs: 0, reportEveryMs: 300_000, fraction: 0 };

for (const [name, change, want] of [
  ["an unchanged status is not reported within the period", { nowMs: 299_999 }, { kind: "skip" }],
  ["an unchanged status is reported when the period has passed", { nowMs: 300_000 }, { kind: "report", delayMs: 0 }],
  [
    "a change is reported, and the next period is up to half shorter",
    { changed: true },
    { kind: "report", delayMs: -150_000 },
  ],
  [
    "a change is reported, and the next period is up to half longer",
    { changed: true, fraction: 1 },
    { kind: "report", delayMs: 150_000 },
  ],
  ["the first status of this process is reported", { last: undefined, fraction: 0.5 }, { kind: "report", delayMs: 0 }],
  [
    "an unchanged status is reported when a shortened period has passed",
    { last: { atMs: 0, delayMs: -150_000 }, nowMs: 150_000 },
    { kind: "report", delayMs: 0 },
  ],
  [
    "an unchanged status is not reported within a lengthened period",
    { last: { atMs: 0, delayMs: 150_000 }, nowMs: 300_000 },
    { kind: "skip" },
  ],
] as const) {
  test(`[3.13] ${name}`, () => assert.deepEqual(decideReport({ ...base, ...change }), want));
}

test("[3.13] the status is computed again after ten seconds and up to 4 % more", () => {
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

test("[3.13] a newer heartbeat, another order and an empty list are no change; other differences are", () => {
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

test("[3.15] a new Lease is owned by the Node, lasts 40 s and has its renew time in microseconds", () => {
  assert.deepEqual(newLease(options, "uid-1", Date.UTC(2026, 0, 1) + 1.25), {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "n1", namespace: LEASE_NAMESPACE, ownerReferences: [owner] },
    spec: { holderIdentity: "n1", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.001250Z" },
  });
});

test("[3.15] [27.4.2] a Lease renewal keeps holder, owner and version, and adds a missing owner", () => {
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

test("[3.15] a Lease is renewed after a quarter of its duration and up to 4 % more", () => {
  assert.deepEqual([renewEveryMs(options, 0), renewEveryMs(options, 1)], [10_000, 10_400]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { admittedVerdict, NOW_MS, pod } from "../../../test/support/pods.ts";
import { apiTime } from "../../base/timestamp.ts";
import type { AdmittedPod } from "./admitted-pod.ts";
import { desiredLifecycle } from "./desired-lifecycle.ts";
import { type EndRequest, foldEndRequests } from "./end-request.ts";

const START_MS = NOW_MS - 60_000;

function admitted(activeDeadlineSeconds: number, startTime?: string): AdmittedPod {
  const object = { ...pod({ activeDeadlineSeconds }), status: startTime === undefined ? {} : { startTime } };
  return {
    uid: "u",
    pod: object,
    isStatic: false,
    firstSeenWallMs: START_MS,
    verdict: admittedVerdict(object),
  };
}

const desired = (one: AdmittedPod | undefined, wallMs = NOW_MS, sourcesReady = true, endRequest?: EndRequest) =>
  desiredLifecycle({ admitted: one, endRequest, sourcesReady, wasWanted: false, mustWait: false, wallMs });

test("[6.10] a pod past its activeDeadlineSeconds fails with DeadlineExceeded", () => {
  assert.deepEqual(desired(admitted(61)), { kind: "run" });
  assert.deepEqual(desired(admitted(60)), {
    kind: "end",
    why: {
      kind: "failed",
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
    },
  });
});

test("[6.10] the deadline counts from the published start time", () => {
  const published = apiTime(NOW_MS - 600_000);
  assert.equal(desired(admitted(500, published))?.kind, "end");
  assert.equal(desired(admitted(601, published))?.kind, "run");
});

test("[6.10] a deadline set on a running pod applies at once", () => {
  assert.equal(desired(admitted(3600))?.kind, "run");
  assert.equal(desired(admitted(5))?.kind, "end");
});

test("[4.9] a pod that no source knows is terminated only after all sources are ready", () => {
  assert.equal(desired(undefined, NOW_MS, false), undefined);
  assert.deepEqual(desired(undefined), { kind: "end", why: { kind: "orphaned" } });
});

test("a pod with an end request fails with its reason, message and grace period", () => {
  const request = { reason: "Evicted", message: "The node was low on resource: memory." };
  const why = { kind: "failed", ...request };
  assert.deepEqual(desired(admitted(3600), NOW_MS, true, request), { kind: "end", why });
  const hurried = { ...request, graceSeconds: 1 };
  assert.deepEqual(desired(admitted(3600), NOW_MS, true, hurried), { kind: "end", why, graceOverrideSeconds: 1 });
});

test("of two end requests the first gives the reason, and the shorter grace period applies", () => {
  const [first, second] = [
    { reason: "Preempting", message: "a" },
    { reason: "Evicted", message: "b", graceSeconds: 5 },
  ];
  assert.deepEqual(foldEndRequests(first, second), { ...first, graceSeconds: 5 });
  assert.deepEqual(foldEndRequests(second, first), second);
  assert.deepEqual(foldEndRequests({ ...first, graceSeconds: 2 }, second), { ...first, graceSeconds: 2 });
});

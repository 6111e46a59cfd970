import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterFailedPull,
  asksNode,
  decidePull,
  defaultImagePullPolicy,
  type PullBackoff,
  pullBackoffLeftMs,
} from "./pull-policy.ts";

test("the default pull policy is Always for :latest, written or implied, and else IfNotPresent", () => {
  const digest = `sha256:${"0".repeat(64)}`;
  for (const image of ["x", "x:latest", `x:latest@${digest}`])
    assert.equal(defaultImagePullPolicy(image), "Always", image);
  for (const image of ["x:1", `x@${digest}`, "No Name", ""])
    assert.equal(defaultImagePullPolicy(image), "IfNotPresent", image);
});

test("[9.1] Always pulls without checking the node, the other policies use a present image, Never does not pull", () => {
  const decisions = ["Always", "IfNotPresent", "Never"].map((policy) => [
    asksNode(policy),
    decidePull(policy, true),
    decidePull(policy, false),
  ]);
  assert.deepEqual(decisions, [
    [false, "pull", "pull"],
    [true, "use", "pull"],
    [true, "use", "refuse"],
  ]);
});

test("[9.3] pull backoff doubles from 10 s to 5 minutes, and restarts after ten minutes without a failure", () => {
  let backoff: PullBackoff | undefined;
  let now = 0;
  const waits = Array.from({ length: 7 }, () => {
    backoff = afterFailedPull(backoff, now);
    now += backoff.delayMs;
    return backoff.delayMs / 1_000;
  });
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 300, 300]);
  assert.ok(backoff !== undefined);
  const { failedMonotonicMs } = backoff;
  assert.deepEqual(
    [failedMonotonicMs, failedMonotonicMs + 299_999, failedMonotonicMs + 300_000].map((at) =>
      pullBackoffLeftMs(backoff ?? assert.fail(), at),
    ),
    [300_000, 1, 0],
  );
  assert.equal(afterFailedPull(backoff, failedMonotonicMs + 600_000).delayMs, 300_000);
  assert.equal(afterFailedPull(backoff, failedMonotonicMs + 600_001).delayMs, 10_000);
});

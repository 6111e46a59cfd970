import assert from "node:assert/strict";
import { test } from "node:test";
import { pod } from "../../../test/support/pods.ts";
import { interrupts, nextLifecycle } from "./next-lifecycle.ts";
import type { PodLifecycle } from "./pod-lifecycle.ts";

const deleted = { kind: "end", why: { kind: "deleted" } } as const;
const running: PodLifecycle = { kind: "running" };
const ending = (graceSeconds: number, sinceMonotonicMs = 0): PodLifecycle => ({
  kind: "terminating",
  graceSeconds,
  sinceMonotonicMs,
  why: { kind: "deleted" },
});

test("[6.4] the grace period is the deletion's, else the spec's, at least 1 s", () => {
  const graceOf = (p: ReturnType<typeof pod> | undefined) => nextLifecycle(running, deleted, p, 0);
  assert.deepEqual(graceOf(pod({}, { deletionGracePeriodSeconds: 5 })), ending(5));
  assert.deepEqual(graceOf(pod()), ending(30));
  assert.deepEqual(graceOf(pod({}, { deletionGracePeriodSeconds: 0 })), ending(1));
});

test("[6.4][6.9] a grace override replaces the spec's grace period and does not exceed the deletion's", () => {
  const end = (graceOverrideSeconds: number) => ({ ...deleted, graceOverrideSeconds });
  assert.deepEqual(nextLifecycle(running, end(3), pod(), 0), ending(3));
  assert.deepEqual(nextLifecycle(running, end(60), pod(), 0), ending(60));
  assert.deepEqual(nextLifecycle(running, end(60), pod({}, { deletionGracePeriodSeconds: 5 }), 0), ending(5));
});

test("[6.4] a later request shortens the grace period, and never moves the end of termination back", () => {
  const shrink = (seconds: number, nowMs: number) =>
    nextLifecycle(ending(30), deleted, pod({}, { deletionGracePeriodSeconds: seconds }), nowMs);
  assert.deepEqual(shrink(5, 10_000), ending(5, 10_000));
  assert.deepEqual(shrink(60, 10_000), ending(30));
  assert.deepEqual(shrink(25, 10_000), ending(30), "25 s from now would end later than what is left of the 30 s");
});

test("[6.7] an orphaned pod gets a grace period of 1 s", () => {
  assert.deepEqual(nextLifecycle(running, { kind: "end", why: { kind: "orphaned" } }, undefined, 7), {
    kind: "terminating",
    graceSeconds: 1,
    sinceMonotonicMs: 7,
    why: { kind: "orphaned" },
  });
});

test("[6.7] a pod removed from the API gets 1 s even when terminating; a static pod keeps its grace period", () => {
  const removed = { kind: "end", why: { kind: "removed" } } as const;
  const gone = (seconds: number, sinceMonotonicMs = 0) => ({ ...ending(seconds, sinceMonotonicMs), why: removed.why });
  assert.deepEqual(nextLifecycle(running, removed, pod(), 0), gone(1));
  assert.deepEqual(nextLifecycle(ending(30), removed, pod(), 5_000), ending(1, 5_000));
  const fromFile = pod({}, { annotations: { "kubernetes.io/config.source": "file" } });
  assert.deepEqual(nextLifecycle(running, removed, fromFile, 0), gone(30));
});

test("[6.1] the lifecycle never moves backward", () => {
  for (const state of [
    ending(1),
    { kind: "terminated", why: { kind: "deleted" } },
    { kind: "finished", why: { kind: "deleted" } },
  ] as const) {
    assert.equal(nextLifecycle(state, { kind: "run" }, pod(), 0), state);
  }
});

test("[6.1] termination and a shorter grace period interrupt what is in progress", () => {
  assert.equal(interrupts(running, ending(30)), true);
  assert.equal(interrupts(ending(30), ending(5)), true);
  assert.equal(interrupts(ending(30), ending(30)), false);
  assert.equal(interrupts(running, running), false);
});

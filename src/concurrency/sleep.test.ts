import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { pause, sleep } from "./sleep.ts";

test("sleep resolves after its delay and leaves no listener", async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  let awake = false;
  const slept = sleep(clock, 1000, signal).then(() => (awake = true));
  await clock.advance(999);
  assert.equal(awake, false);
  await clock.advance(1);
  await slept;
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("sleep rejects with the signal's reason at once and leaves no timer", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const slept = sleep(clock, 1000, controller.signal);
  controller.abort(new Error("shutting down"));
  await assert.rejects(slept, new Error("shutting down"));
  assert.equal(clock.pending, 0);
});

test("sleep sets no timer when the signal has already aborted", async () => {
  const clock = new VirtualClock();
  await assert.rejects(sleep(clock, 1000, AbortSignal.abort(new Error("gone"))), new Error("gone"));
  assert.equal(clock.pending, 0);
});

test("pause resolves after its delay and when the signal aborts", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const first = pause(clock, 1000, controller.signal);
  await clock.advance(1000);
  await first;
  const second = pause(clock, 1000, controller.signal);
  controller.abort(new Error("shutting down"));
  await second;
  assert.equal(clock.pending, 0);
});

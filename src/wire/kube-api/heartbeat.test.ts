import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../sim/virtual-clock.ts";
import { Heartbeat } from "./heartbeat.ts";

/** A clock whose process can stall: time passes, and timers that became due meanwhile fire late. */
class StallingClock extends VirtualClock {
  stalledMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.stalledMs;
  }
}

function start() {
  const clock = new StallingClock();
  const pings: (() => void)[] = [];
  const deadAtMs: number[] = [];
  const heartbeat = new Heartbeat({
    clock,
    everyMs: 10_000,
    limitMs: 10_000,
    ping: (answered) => pings.push(answered),
    onDead: () => deadAtMs.push(clock.monotonicMs()),
  });
  return { clock, pings, deadAtMs, heartbeat };
}

void test("a dead connection is detected after interval plus limit", async () => {
  const { clock, deadAtMs } = start();
  await clock.advance(60_000);
  assert.deepEqual([deadAtMs, clock.pending], [[20_000], 0]);
});

void test("answered pings keep the connection alive, with one ping per interval", async () => {
  const { clock, pings, deadAtMs } = start();
  for (let turn = 1; turn <= 6; turn += 1) {
    await clock.advance(10_000);
    assert.equal(pings.length, turn);
    pings.at(-1)?.();
  }
  assert.deepEqual(deadAtMs, []);
});

void test("received traffic replaces pings, and postpones the limit of a pending ping", async () => {
  const { clock, pings, deadAtMs, heartbeat } = start();
  for (let second = 0; second < 60; second += 1) {
    await clock.advance(1000);
    heartbeat.heard();
  }
  assert.equal(pings.length, 0);
  await clock.advance(10_000); // A ping is sent, and only other traffic arrives for a while.
  for (let second = 0; second < 30; second += 1) {
    await clock.advance(1000);
    heartbeat.heard();
  }
  assert.deepEqual([pings.length, deadAtMs], [1, []]);
  await clock.advance(10_000);
  assert.deepEqual(deadAtMs, [110_000]);
});

void test("doubt() pings at once, once, and lasts until the answer", async () => {
  const { clock, pings, deadAtMs, heartbeat } = start();
  await clock.advance(3000);
  heartbeat.doubt();
  heartbeat.doubt();
  assert.deepEqual([pings.length, heartbeat.doubted], [1, true]);
  pings[0]?.();
  assert.equal(heartbeat.doubted, false);
  heartbeat.doubt();
  await clock.advance(10_000);
  assert.deepEqual([deadAtMs, heartbeat.doubted], [[13_000], true]);
});

void test("after a stall of our own process an answer that is already there can still be read", async () => {
  const { clock, pings, deadAtMs } = start();
  await clock.advance(10_000);
  clock.stalledMs = 60_000;
  await clock.advance(15_000);
  assert.deepEqual(deadAtMs, []);
  pings[0]?.();
  await clock.advance(9000);
  assert.deepEqual(deadAtMs, []);
});

void test("a stopped heartbeat has no timer and sends no ping", async () => {
  const { clock, pings, heartbeat } = start();
  heartbeat.stop();
  heartbeat.doubt();
  await clock.advance(60_000);
  assert.deepEqual([pings.length, clock.pending], [0, 0]);
});

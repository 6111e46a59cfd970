import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { sleep } from "../src/concurrency/sleep.ts";
import { clockContract } from "../test/contract/clock-contract.ts";
import { VirtualClock } from "./virtual-clock.ts";

const never = new AbortController().signal;

clockContract("the virtual clock", () => {
  const clock = new VirtualClock();
  return { clock, pass: (ms) => clock.advance(ms) };
});

test("a timer fires exactly at its time, even after a year", async () => {
  const clock = new VirtualClock();
  const yearMs = 365 * 24 * 3_600_000;
  const firedMs: number[] = [];
  clock.after(yearMs, () => firedMs.push(clock.monotonicMs()));
  await clock.advance(yearMs - 1);
  assert.deepEqual(firedMs, []);
  await clock.advance(1);
  assert.deepEqual(firedMs, [yearMs]);
});

test("timers for the same time fire in the order they were set", async () => {
  const clock = new VirtualClock();
  const order: number[] = [];
  for (let i = 0; i < 100; i += 1) clock.after(7, () => order.push(i));
  await clock.advance(7);
  assert.deepEqual(
    order,
    Array.from({ length: 100 }, (_, i) => i),
  );
});

test("time does not move while a promise can still run", async () => {
  const clock = new VirtualClock();
  const seenMs: number[] = [];
  const work = async () => {
    await sleep(clock, 10, never);
    for (let i = 0; i < 50; i += 1) await Promise.resolve();
    seenMs.push(clock.monotonicMs());
    await sleep(clock, 10, never);
    seenMs.push(clock.monotonicMs());
  };
  clock.after(11, () => seenMs.push(clock.monotonicMs()));
  const done = work();
  await clock.advance(100);
  await done;
  assert.deepEqual(seenMs, [10, 11, 20]);
});

test("the wall clock can jump while monotonic time and timers continue", async () => {
  const clock = new VirtualClock(1_000_000);
  let fired = false;
  clock.after(10, () => (fired = true));
  clock.jumpWall(-500_000);
  assert.deepEqual([clock.wallMs(), clock.monotonicMs(), fired], [500_000, 0, false]);
  await clock.advance(10);
  assert.deepEqual([clock.wallMs(), clock.monotonicMs(), fired], [500_010, 10, true]);
});

test("runUntilIdle ends at the last timer, or returns false when timers are left", async () => {
  const clock = new VirtualClock();
  clock.after(5, () => clock.after(5, () => {}));
  assert.equal(await clock.runUntilIdle(1000), true);
  assert.equal(clock.monotonicMs(), 10);
  clock.after(5000, () => {});
  assert.equal(await clock.runUntilIdle(1000), false);
  assert.deepEqual([clock.monotonicMs(), clock.pending], [1010, 1]);
});

test("any set of timers, some cancelled, fires in order and leaves none behind", async () => {
  const timers = fc.array(fc.record({ atMs: fc.integer({ min: 0, max: 50 }), cancelled: fc.boolean() }), {
    maxLength: 200,
  });
  await fc.assert(
    fc.asyncProperty(timers, async (wanted) => {
      const clock = new VirtualClock();
      const fired: number[] = [];
      const cancels = wanted.map(({ atMs }, index) => clock.after(atMs, () => fired.push(index)));
      wanted.forEach(({ cancelled }, index) => {
        if (cancelled) cancels[index]?.();
      });
      const expected = wanted
        .map(({ atMs, cancelled }, index) => ({ atMs, cancelled, index }))
        .filter(({ cancelled }) => !cancelled)
        .toSorted((a, b) => a.atMs - b.atMs || a.index - b.index)
        .map(({ index }) => index);
      assert.equal(clock.pending, expected.length);
      await clock.advance(50);
      assert.deepEqual(fired, expected);
      assert.equal(clock.pending, 0);
    }),
    { numRuns: 50 },
  );
});

test("a wait below the clock's resolution still ends later than it began", async () => {
  const clock = new VirtualClock();
  await clock.advance(1_000_000);
  let firedMs = 0;
  clock.after(1e-12, () => {
    firedMs = clock.monotonicMs();
  });
  await clock.advance(10);
  assert.equal(firedMs, 1_000_001);
});

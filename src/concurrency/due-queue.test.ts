import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../sim/seeded-random.ts";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { DueQueue, STEP_MS } from "./due-queue.ts";

function world() {
  const clock = new VirtualClock();
  const fired: (readonly [string, number])[] = [];
  const queue = new DueQueue<string>(clock, (key) => fired.push([key, clock.monotonicMs()]));
  return { clock, fired, queue };
}

test("due queue fires keys in order of their due time, rounded up to steps, with one timer", async () => {
  const { clock, fired, queue } = world();
  queue.set("late", 3 * STEP_MS);
  queue.set("b", STEP_MS + 1);
  queue.set("a", STEP_MS + 2);
  queue.set("past", -5);
  assert.equal(clock.pending, 1);
  await clock.advance(10 * STEP_MS);
  assert.deepEqual(fired, [
    ["past", 0],
    ["b", 2 * STEP_MS],
    ["a", 2 * STEP_MS],
    ["late", 3 * STEP_MS],
  ]);
  assert.deepEqual([queue.size, clock.pending], [0, 0]);
});

test("due queue fires a moved key only at its new time, no cancelled key, and has no timer once closed", async () => {
  const { clock, fired, queue } = world();
  queue.set("moved", STEP_MS);
  queue.set("moved", 4 * STEP_MS);
  queue.set("gone", 2 * STEP_MS);
  queue.cancel("gone");
  await clock.advance(3 * STEP_MS);
  assert.deepEqual(fired, []);
  await clock.advance(STEP_MS);
  assert.deepEqual(fired, [["moved", 4 * STEP_MS]]);
  queue.set("never", 5 * STEP_MS);
  queue.close();
  assert.equal(clock.pending, 0);
});

test("due queue accepts a key again from within its own callback", async () => {
  const clock = new VirtualClock();
  let count = 0;
  const queue: DueQueue<string> = new DueQueue(clock, (key) => {
    count += 1;
    queue.set(key, clock.monotonicMs() + 1_000);
  });
  queue.set("again", 0);
  await clock.advance(10_000);
  assert.equal(count, 11);
});

test("due queue fires each key once, after 20 000 random sets, moves and cancellations", async () => {
  const { clock, fired, queue } = world();
  const random = new SeededRandom(1);
  const wanted = new Map<string, number>();
  for (let round = 0; round < 20_000; round += 1) {
    const key = `k${Math.floor(random.fraction() * 500)}`;
    if (random.fraction() < 0.1) {
      queue.cancel(key);
      wanted.delete(key);
      continue;
    }
    const dueMs = Math.floor(random.fraction() * 1_000) * STEP_MS;
    queue.set(key, dueMs);
    wanted.set(key, dueMs);
  }
  await clock.advance(1_000 * STEP_MS);
  assert.deepEqual(new Map(fired), wanted);
  assert.equal(fired.length, wanted.size);
});

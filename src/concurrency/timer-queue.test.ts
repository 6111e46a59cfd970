import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { TimerQueue } from "./timer-queue.ts";

test("timer queue fires only the earliest wakeup of a key", async () => {
  const clock = new ManualClock();
  const fired: string[] = [];
  const timers = new TimerQueue<string>(clock, (key) => fired.push(key));
  timers.wakeIn("a", 2_000);
  timers.wakeIn("a", 1_000);
  timers.wakeIn("a", 3_000);
  await clock.advance(1_000);
  assert.deepEqual(fired, ["a"]);
  await clock.advance(10_000);
  assert.deepEqual(fired, ["a"]);
});

test("[1.20] a closed timer queue sets no timer, so that a late turn cannot keep the process alive", async () => {
  const clock = new ManualClock();
  const fired: string[] = [];
  const timers = new TimerQueue<string>(clock, (key) => fired.push(key));
  timers.wakeIn("before", 1_000);
  timers.close();
  timers.wakeIn("after", 1_000);
  assert.equal(clock.timersPending, 0);
  await clock.advance(10_000);
  assert.deepEqual(fired, []);
});

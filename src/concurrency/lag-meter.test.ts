import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { LagMeter } from "./lag-meter.ts";

test("lag meter counts the stall during a measurement, and no stall before it began", async () => {
  const clock = new ManualClock();
  const meter = new LagMeter(clock);
  using first = meter.begin();
  await clock.advance(500);
  assert.equal(first.lostMs(), 0);
  await clock.stall(3_000);
  assert.ok(first.lostMs() >= 2_950 && first.lostMs() <= 3_000, `${first.lostMs()} ms`);
  using second = meter.begin();
  await clock.advance(200);
  assert.equal(second.lostMs(), 0);
  assert.ok(first.lostMs() >= 2_950);
});

test("lag meter has no timer while nothing is measured", async () => {
  const clock = new ManualClock();
  const meter = new LagMeter(clock);
  const [one, two] = [meter.begin(), meter.begin()];
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  assert.equal(clock.timersPending, 1);
  two[Symbol.dispose]();
  assert.equal(clock.timersPending, 0);
  await clock.stall(10_000);
  using later = meter.begin();
  assert.equal(later.lostMs(), 0);
});

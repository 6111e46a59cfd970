import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { LatestCell } from "./latest-cell.ts";
import { waitForChange } from "./wait-for-change.ts";

function start(limitMs: number) {
  const clock = new ManualClock();
  const [a, b] = [new LatestCell(0), new LatestCell(0)];
  const stop = new AbortController();
  const outcome: string[] = [];
  const wait = waitForChange(
    clock,
    [
      { cell: a, seen: 0 },
      { cell: b, seen: 0 },
    ],
    limitMs,
    stop.signal,
  ).then(
    () => void outcome.push("woken"),
    () => void outcome.push("aborted"),
  );
  return { clock, a, b, stop, outcome, wait };
}

test("waitForChange resolves on a change of any cell and cancels its timer", async () => {
  const { clock, b, outcome } = start(1000);
  await clock.advance(500);
  b.set(1);
  await clock.advance(0);
  assert.deepEqual([outcome, clock.timersPending], [["woken"], 0]);
});

test("waitForChange resolves at once when a cell changed before the call", async () => {
  const clock = new ManualClock();
  const cell = new LatestCell(0);
  cell.set(1);
  await waitForChange(clock, [{ cell, seen: 0 }], Number.POSITIVE_INFINITY, new AbortController().signal);
});

test("waitForChange resolves after its limit, and sets no timer without a limit", async () => {
  const limited = start(1000);
  await limited.clock.advance(1000);
  assert.deepEqual(limited.outcome, ["woken"]);
  const endless = start(Number.POSITIVE_INFINITY);
  await endless.clock.advance(1e9);
  assert.deepEqual([endless.outcome, endless.clock.timersPending], [[], 0]);
});

test("waitForChange rejects when the signal aborts", async () => {
  const { clock, stop, outcome } = start(1000);
  stop.abort(new Error("shutdown"));
  await clock.advance(0);
  assert.deepEqual([outcome, clock.timersPending], [["aborted"], 0]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { LatestCell } from "./latest-cell.ts";
import { onChange } from "./on-change.ts";

/** Waits until the handlers of all promises that are settled by now have run. */
async function microtasks(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

test("onChange calls act once for coalesced changes, and not after the abort", async () => {
  const cell = new LatestCell(0);
  cell.set(1);
  const seen: number[] = [];
  const shutdown = new AbortController();
  const ended = onChange(cell, () => seen.push(cell.value), shutdown.signal);
  await microtasks();
  assert.deepEqual(seen, [], "what was there before is no change");
  cell.set(2);
  cell.set(3);
  await microtasks();
  shutdown.abort();
  cell.set(4);
  await ended;
  assert.deepEqual(seen, [3]);
});

test("onChange ends when act aborts the signal", async () => {
  const cell = new LatestCell(0);
  const shutdown = new AbortController();
  let calls = 0;
  const act = () => {
    calls += 1;
    shutdown.abort();
  };
  const ended = onChange(cell, act, shutdown.signal);
  cell.set(1);
  await ended;
  assert.equal(calls, 1);
});

test("onChange rejects when the cell rejects", async () => {
  const broken = { value: 0, version: 0, changed: () => Promise.reject(new Error("broken")) };
  const { signal } = new AbortController();
  await assert.rejects(
    onChange(broken, () => assert.fail("nothing changed"), signal),
    /broken/,
  );
});

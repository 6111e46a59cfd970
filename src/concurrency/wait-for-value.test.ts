import assert from "node:assert/strict";
import { test } from "node:test";
import { LatestCell } from "./latest-cell.ts";
import { waitForValue } from "./wait-for-value.ts";

const isEven = (value: number) => value % 2 === 0;

test("waitForValue resolves at once when the value already matches, even if the signal has aborted", async () => {
  assert.equal(await waitForValue(new LatestCell(2), isEven, AbortSignal.abort()), 2);
});

test("waitForValue resolves with the newest value once it matches", async () => {
  const cell = new LatestCell(1);
  const waiting = waitForValue(cell, isEven, new AbortController().signal);
  cell.set(3);
  cell.set(4);
  assert.equal(await waiting, 4);
});

test("waitForValue resolves with a matching value that is set between two checks", async () => {
  const cell = new LatestCell(1);
  const waiting = waitForValue(cell, isEven, new AbortController().signal);
  cell.set(3);
  await Promise.resolve();
  cell.set(6);
  assert.equal(await waiting, 6);
});

test("waitForValue narrows the value by a type predicate", async () => {
  const cell = new LatestCell<string | undefined>(undefined);
  const waiting = waitForValue(cell, (value) => value !== undefined, new AbortController().signal);
  cell.set("there");
  const text: string = await waiting;
  assert.equal(text, "there");
});

test("waitForValue rejects with the signal's reason", async () => {
  const reason = new Error("shutting down");
  const stop = new AbortController();
  const waiting = waitForValue(new LatestCell(1), isEven, stop.signal);
  stop.abort(reason);
  await assert.rejects(waiting, reason);
});

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { LatestCell } from "./latest-cell.ts";

const never = new AbortController().signal;

test("a reader finds the newest value and how often it was written", () => {
  const cell = new LatestCell("a");
  assert.deepEqual([cell.value, cell.version], ["a", 0]);
  cell.set("b");
  cell.set("c");
  assert.deepEqual([cell.value, cell.version], ["c", 2]);
});

test("a reader that was busy learns of the newest value at once, and of no other", async () => {
  const cell = new LatestCell(0);
  cell.set(1);
  cell.set(2);
  assert.equal(await cell.changed(0, never), 2);
  assert.equal(cell.value, 2);
});

test("every waiting reader is woken by one write", async () => {
  const cell = new LatestCell(0);
  const readers = [cell.changed(0, never), cell.changed(0, never)];
  cell.set(1);
  assert.deepEqual(await Promise.all(readers), [1, 1]);
});

test("writing the same value again is a change: the cell does not compare", async () => {
  const cell = new LatestCell(0);
  const changed = cell.changed(0, never);
  cell.set(0);
  assert.equal(await changed, 1);
});

test("a reader that sleeps through several writes wakes with the last version", async () => {
  const cell = new LatestCell(0);
  const first = cell.changed(0, never);
  cell.set(1);
  cell.set(2);
  assert.equal(await first, 1, "it was woken by the first write");
  assert.equal(await cell.changed(1, never), 2, "and finds the second at once");
});

test("waiting ends with the signal's reason, before or while it waits, and leaves no listener", async () => {
  const cell = new LatestCell(0);
  const controller = new AbortController();
  const waiting = cell.changed(0, controller.signal);
  controller.abort(new Error("stop"));
  await assert.rejects(waiting, new Error("stop"));
  await assert.rejects(cell.changed(-1, controller.signal), new Error("stop"));
  const { signal } = new AbortController();
  const changed = cell.changed(0, signal);
  cell.set(1);
  await changed;
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

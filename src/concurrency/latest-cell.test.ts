import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { LatestCell } from "./latest-cell.ts";

const never = new AbortController().signal;

test("cell holds the newest value and counts its writes", () => {
  const cell = new LatestCell("a");
  assert.deepEqual([cell.value, cell.version], ["a", 0]);
  cell.set("b");
  cell.set("c");
  assert.deepEqual([cell.value, cell.version], ["c", 2]);
});

test("changed() resolves at once with the newest value when the reader is behind", async () => {
  const cell = new LatestCell(0);
  cell.set(1);
  cell.set(2);
  assert.equal(await cell.changed(0, never), 2);
  assert.equal(cell.value, 2);
});

test("one write wakes all waiting readers", async () => {
  const cell = new LatestCell(0);
  const readers = [cell.changed(0, never), cell.changed(0, never)];
  cell.set(1);
  assert.deepEqual(await Promise.all(readers), [1, 1]);
});

test("writing an equal value counts as a change", async () => {
  const cell = new LatestCell(0);
  const changed = cell.changed(0, never);
  cell.set(0);
  assert.equal(await changed, 1);
});

test("a reader sees the write that woke it, then the newest value at once", async () => {
  const cell = new LatestCell(0);
  const first = cell.changed(0, never);
  cell.set(1);
  cell.set(2);
  assert.equal(await first, 1, "it was woken by the first write");
  assert.equal(await cell.changed(1, never), 2, "and finds the second at once");
});

test("changed() rejects with the signal's reason, and leaves no listener", async () => {
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

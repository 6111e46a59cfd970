import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { linkSignals } from "./link-signals.ts";

test("linked signal aborts with the reason of the first parent that aborts", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  using child = linkSignals(one.signal, two.signal);
  assert.equal(child.signal.aborted, false);
  two.abort("second");
  one.abort("first");
  assert.deepEqual([child.signal.aborted, child.signal.reason], [true, "second"]);
});

test("linked signal is aborted from the start when a parent has already aborted", () => {
  const [gone, alive] = [AbortSignal.abort("gone"), new AbortController().signal];
  using child = linkSignals(alive, gone, new AbortController().signal);
  assert.deepEqual([child.signal.aborted, child.signal.reason], [true, "gone"]);
});

test("aborting a linked signal does not abort its parents", () => {
  const parent = new AbortController();
  using child = linkSignals(parent.signal);
  child.abort("mine");
  assert.deepEqual([child.signal.reason, parent.signal.aborted], ["mine", false]);
});

test("disposing of a linked signal removes its listeners from the parents", () => {
  const parent = new AbortController();
  const child = linkSignals(parent.signal);
  assert.equal(getEventListeners(parent.signal, "abort").length, 1);
  child[Symbol.dispose]();
  child[Symbol.dispose]();
  assert.equal(getEventListeners(parent.signal, "abort").length, 0);
  parent.abort("late");
  assert.equal(child.signal.aborted, false);
});

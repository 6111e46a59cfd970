import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { linkSignals } from "./link-signals.ts";

test("the child aborts with the reason of whichever parent aborts first", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  using child = linkSignals(one.signal, two.signal);
  assert.equal(child.signal.aborted, false);
  two.abort("second");
  one.abort("first");
  assert.deepEqual([child.signal.aborted, child.signal.reason], [true, "second"]);
});

test("a parent that has aborted before aborts the child at once, and no other parent is listened to", () => {
  const [gone, alive] = [AbortSignal.abort("gone"), new AbortController().signal];
  using child = linkSignals(alive, gone, new AbortController().signal);
  assert.deepEqual([child.signal.aborted, child.signal.reason], [true, "gone"]);
});

test("the child can abort alone, and its parents do not", () => {
  const parent = new AbortController();
  using child = linkSignals(parent.signal);
  child.abort("mine");
  assert.deepEqual([child.signal.reason, parent.signal.aborted], ["mine", false]);
});

test("once disposed the parents keep nothing of it, and no longer abort it", () => {
  const parent = new AbortController();
  const child = linkSignals(parent.signal);
  assert.equal(getEventListeners(parent.signal, "abort").length, 1);
  child[Symbol.dispose]();
  child[Symbol.dispose]();
  assert.equal(getEventListeners(parent.signal, "abort").length, 0);
  parent.abort("late");
  assert.equal(child.signal.aborted, false);
});

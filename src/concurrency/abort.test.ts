import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { linkSignals, raceAbort, unlessShutDown } from "./abort.ts";

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

void test("raceAbort settles as its promise does and removes its listener", async () => {
  const { signal } = new AbortController();
  assert.equal(await raceAbort(Promise.resolve(7), signal), 7);
  await assert.rejects(raceAbort(Promise.reject(new Error("broken")), signal), /broken/);
  await Promise.resolve();
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

void test("raceAbort rejects at once with the abort reason, swallows a later rejection of the promise", async () => {
  const reason = new Error("gave up");
  const giveUp = new AbortController();
  const slow = Promise.withResolvers<never>();
  const waiting = raceAbort(slow.promise, giveUp.signal);
  giveUp.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
  slow.reject(new Error("too late to matter"));
  await assert.rejects(raceAbort(Promise.reject(new Error("unheard")), giveUp.signal), (error) => error === reason);
});

test("unlessShutDown rejects on a failure before the shutdown, and resolves on one after it", async () => {
  const stop = new AbortController();
  const failing = () => Promise.reject(new Error("broken"));
  assert.equal(await unlessShutDown(stop.signal, async () => 7), 7);
  await assert.rejects(unlessShutDown(stop.signal, failing), /broken/);
  stop.abort();
  assert.equal(await unlessShutDown(stop.signal, failing), undefined);
});

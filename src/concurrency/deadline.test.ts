import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { VirtualClock } from "../../sim/virtual-clock.ts";
import { DeadlineError, withDeadline } from "./deadline.ts";

const never = new AbortController().signal;

/** Work that ends only when its signal aborts, as every external call must. */
const rejectOnAbort = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

test("withDeadline settles as the work does, and leaves no timer or listener", async () => {
  const clock = new VirtualClock();
  const parent = new AbortController().signal;
  assert.equal(await withDeadline(clock, 100, parent, async () => "done"), "done");
  const failure = new Error("no");
  await assert.rejects(
    withDeadline(clock, 100, parent, () => Promise.reject(failure)),
    failure,
  );
  assert.deepEqual([clock.pending, getEventListeners(parent, "abort").length], [0, 0]);
});

test("withDeadline rejects with DeadlineError at the limit, not 1 ms earlier", async () => {
  const clock = new VirtualClock();
  const ends: unknown[] = [];
  const work = withDeadline(clock, 100, never, rejectOnAbort).catch((error: unknown) => ends.push(error));
  await clock.advance(99);
  assert.deepEqual(ends, []);
  await clock.advance(1);
  await work;
  assert.deepEqual(ends, [new DeadlineError(100)]);
});

test("withDeadline rejects with the parent's reason when the parent aborts, and cancels its timer", async () => {
  const clock = new VirtualClock();
  const parent = new AbortController();
  const work = withDeadline(clock, 100, parent.signal, rejectOnAbort);
  parent.abort(new Error("pod gone"));
  await assert.rejects(work, new Error("pod gone"));
  assert.equal(clock.pending, 0);
});

test("withDeadline does not start the work when the parent has already aborted", async () => {
  let begun = false;
  const work = withDeadline(new VirtualClock(), 100, AbortSignal.abort(new Error("gone")), async () => (begun = true));
  await assert.rejects(work, new Error("gone"));
  assert.equal(begun, false);
});

test("300 000 calls of withDeadline under one parent grow the heap by less than 2 MB", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const clock = new VirtualClock();
  const heapMb = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const call = () => withDeadline(clock, 60_000, never, async (signal) => signal.aborted);
  for (let i = 0; i < 1000; i += 1) await call();
  const beforeMb = heapMb();
  // In rounds: a leak of listeners also slows every call down, and the test must find it within reasonable time.
  for (let turn = 0; turn < 30; turn += 1) {
    for (let i = 0; i < 10_000; i += 1) await call();
    const grownMb = heapMb() - beforeMb;
    assert.ok(grownMb < 2, `the heap grew by ${grownMb.toFixed(1)} MB in ${turn + 1} turns`);
  }
  assert.equal(clock.pending, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Interrupted, KeyedWorker } from "./keyed-worker.ts";

/** A worker whose turns end when the test decides. */
function world() {
  const shutdown = new AbortController();
  const bugs: unknown[] = [];
  const turns: { key: string; signal: AbortSignal; end: () => void; fail: (error: Error) => void }[] = [];
  const worker = new KeyedWorker<string>({
    turn: (key, signal) => new Promise((resolve, reject) => turns.push({ key, signal, end: resolve, fail: reject })),
    onBug: (_key, error) => bugs.push(error),
    shutdown: shutdown.signal,
  });
  return { worker, turns, bugs, shutdown };
}

const settle = () =>
  new Promise<void>((resolve) => queueMicrotask(() => queueMicrotask(() => queueMicrotask(resolve))));

test("[6.1] turns of one key never overlap, and any number of wakes meanwhile is one more turn", async () => {
  const { worker, turns } = world();
  worker.wake("a");
  worker.wake("a");
  worker.wake("a");
  await settle();
  assert.equal(turns.length, 1);
  turns[0]?.end();
  await settle();
  assert.equal(turns.length, 2);
  turns[1]?.end();
  await settle();
  assert.deepEqual([turns.length, worker.isBusy("a")], [2, false]);
});

test("turns of two keys run side by side", async () => {
  const { worker, turns } = world();
  worker.wake("a");
  worker.wake("b");
  await settle();
  assert.deepEqual(
    turns.map(({ key }) => key),
    ["a", "b"],
  );
});

test("an interrupted turn is told why, and gets another", async () => {
  const { worker, turns } = world();
  worker.wake("a");
  await settle();
  worker.interrupt("a");
  assert.ok(turns[0]?.signal.reason instanceof Interrupted);
  turns[0]?.end();
  await settle();
  assert.equal(turns.length, 2);
  assert.equal(turns[1]?.signal.aborted, false);
});

test("an interrupt of a key at rest begins a turn and lets it be", async () => {
  const { worker, turns } = world();
  worker.interrupt("a");
  await settle();
  assert.equal(turns.length, 1);
  assert.equal(turns[0]?.signal.aborted, false);
});

test("a turn that throws is a bug that is told, and the key goes on", async () => {
  const { worker, turns, bugs } = world();
  worker.wake("a");
  await settle();
  worker.wake("a");
  turns[0]?.fail(new Error("oh"));
  await settle();
  assert.deepEqual([bugs.map(String), turns.length], [["Error: oh"], 2]);
});

test("shutdown aborts what runs, starts nothing new, and drained waits for the last", async () => {
  const { worker, turns, shutdown } = world();
  worker.wake("a");
  await settle();
  worker.wake("a");
  shutdown.abort(new Error("bye"));
  worker.wake("b");
  assert.equal(turns[0]?.signal.aborted, true);
  let drained = false;
  const waiting = worker.drained().then(() => {
    drained = true;
  });
  await settle();
  assert.equal(drained, false);
  turns[0]?.end();
  await waiting;
  assert.equal(turns.length, 1);
});

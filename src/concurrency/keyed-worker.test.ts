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

test("[6.1] keyed worker runs one turn per key at a time, and one more for any number of wakes meanwhile", async () => {
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

test("keyed worker runs turns of two keys concurrently", async () => {
  const { worker, turns } = world();
  worker.wake("a");
  worker.wake("b");
  await settle();
  assert.deepEqual(
    turns.map(({ key }) => key),
    ["a", "b"],
  );
});

test("keyed worker aborts an interrupted turn with Interrupted, and runs another turn", async () => {
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

test("keyed worker starts a turn, and does not abort it, when an idle key is interrupted", async () => {
  const { worker, turns } = world();
  worker.interrupt("a");
  await settle();
  assert.equal(turns.length, 1);
  assert.equal(turns[0]?.signal.aborted, false);
});

test("keyed worker reports a turn that throws, and runs the key's next turn", async () => {
  const { worker, turns, bugs } = world();
  worker.wake("a");
  await settle();
  worker.wake("a");
  turns[0]?.fail(new Error("oh"));
  await settle();
  assert.deepEqual([bugs.map(String), turns.length], [["Error: oh"], 2]);
});

test("keyed worker aborts running turns at shutdown, starts none, and drained() waits for the last", async () => {
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

import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { Semaphore } from "./semaphore.ts";

const forever = new AbortController().signal;

function world(max: number) {
  const clock = new ManualClock();
  const semaphore = new Semaphore(clock, { max, maxHoldMs: 5_000 });
  const holders: string[] = [];
  const acquire = (name: string, signal = forever) => {
    const permit = semaphore.permit();
    const acquired = permit.acquire(signal).then(() => void holders.push(name));
    return { acquired, permit };
  };
  return { clock, holders, acquire };
}

test("semaphore grants at most `max` permits, and further permits in order of arrival", async () => {
  const { clock, holders, acquire } = world(2);
  const [a, , c, d] = ["a", "b", "c", "d"].map((name) => acquire(name));
  await clock.advance(0);
  assert.deepEqual(holders, ["a", "b"]);
  a?.permit[Symbol.dispose]();
  await clock.advance(0);
  assert.deepEqual(holders, ["a", "b", "c"]);
  c?.permit[Symbol.dispose]();
  await d?.acquired;
  assert.deepEqual(holders, ["a", "b", "c", "d"]);
});

test("acquiring a granted permit again changes nothing, and releasing it twice frees one permit", async () => {
  const { clock, holders, acquire } = world(1);
  const a = acquire("a");
  await a.acquired;
  await a.permit.acquire(forever);
  const [, c] = [acquire("b"), acquire("c")];
  a.permit[Symbol.dispose]();
  a.permit[Symbol.dispose]();
  await clock.advance(0);
  assert.deepEqual(holders, ["a", "b"]);
  await clock.advance(5_000);
  await c.acquired;
});

test("semaphore releases a permit held longer than maxHoldMs, and only once", async () => {
  const { clock, holders, acquire } = world(1);
  const a = acquire("a");
  const [b, c] = [acquire("b"), acquire("c")];
  await clock.advance(4_999);
  assert.deepEqual(holders, ["a"]);
  await clock.advance(1);
  await b.acquired;
  a.permit[Symbol.dispose]();
  await clock.advance(0);
  assert.deepEqual(holders, ["a", "b"], "the permit of a was granted to b already");
  b.permit[Symbol.dispose]();
  await c.acquired;
});

test("an aborted acquire leaves the queue to the next caller", async () => {
  const { clock, holders, acquire } = world(1);
  const a = acquire("a");
  const gone = new AbortController();
  const b = acquire("b", gone.signal);
  const c = acquire("c");
  await clock.advance(0);
  gone.abort(new Error("enough"));
  await assert.rejects(b.acquired, { message: "enough" });
  b.permit[Symbol.dispose]();
  a.permit[Symbol.dispose]();
  await c.acquired;
  assert.deepEqual(holders, ["a", "c"]);
  c.permit[Symbol.dispose]();
  assert.equal(clock.timersPending, 0);
});

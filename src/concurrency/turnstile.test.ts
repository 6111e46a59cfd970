import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { Turnstile } from "./turnstile.ts";

const forever = new AbortController().signal;

function world(most: number) {
  const clock = new ManualClock();
  const turnstile = new Turnstile(clock, { most, patienceMs: 5_000 });
  const inside: string[] = [];
  const visit = (name: string, signal = forever) => {
    const pass = turnstile.pass();
    const entered = pass.enter(signal).then(() => void inside.push(name));
    return { entered, pass };
  };
  return { clock, inside, visit };
}

test("so many are in at once, and the others follow in the order they came", async () => {
  const { clock, inside, visit } = world(2);
  const [a, , c, d] = ["a", "b", "c", "d"].map((name) => visit(name));
  await clock.advance(0);
  assert.deepEqual(inside, ["a", "b"]);
  a?.pass[Symbol.dispose]();
  await clock.advance(0);
  assert.deepEqual(inside, ["a", "b", "c"]);
  c?.pass[Symbol.dispose]();
  await d?.entered;
  assert.deepEqual(inside, ["a", "b", "c", "d"]);
});

test("who is in stays in, and to leave twice frees one place", async () => {
  const { clock, inside, visit } = world(1);
  const a = visit("a");
  await a.entered;
  await a.pass.enter(forever);
  const [, c] = [visit("b"), visit("c")];
  a.pass[Symbol.dispose]();
  a.pass[Symbol.dispose]();
  await clock.advance(0);
  assert.deepEqual(inside, ["a", "b"]);
  await clock.advance(5_000);
  await c.entered;
});

test("who stays too long no longer keeps others out", async () => {
  const { clock, inside, visit } = world(1);
  const a = visit("a");
  const [b, c] = [visit("b"), visit("c")];
  await clock.advance(4_999);
  assert.deepEqual(inside, ["a"]);
  await clock.advance(1);
  await b.entered;
  a.pass[Symbol.dispose]();
  await clock.advance(0);
  assert.deepEqual(inside, ["a", "b"], "its place was given away already");
  b.pass[Symbol.dispose]();
  await c.entered;
});

test("who gives up waiting leaves its place in the line to the next", async () => {
  const { clock, inside, visit } = world(1);
  const a = visit("a");
  const gone = new AbortController();
  const b = visit("b", gone.signal);
  const c = visit("c");
  await clock.advance(0);
  gone.abort(new Error("enough"));
  await assert.rejects(b.entered, { message: "enough" });
  b.pass[Symbol.dispose]();
  a.pass[Symbol.dispose]();
  await c.entered;
  assert.deepEqual(inside, ["a", "c"]);
  c.pass[Symbol.dispose]();
  assert.equal(clock.timersPending, 0);
});

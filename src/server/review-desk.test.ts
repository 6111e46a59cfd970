import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { ReviewDesk, TooBusy } from "./review-desk.ts";

const LIMITS = { entriesMax: 3, atOnceMax: 2, waitingMax: 1, answerMsMax: 10_000 };
const never = new AbortController().signal;

function desk() {
  const clock = new ManualClock();
  const reviews = new ReviewDesk<string>(clock, never, LIMITS);
  const asked: string[] = [];
  const ask = (key: string, keepMs = 1000) =>
    reviews.ask(
      key,
      async () => {
        asked.push(key);
        return { answer: `${key}!`, keepMs };
      },
      never,
    );
  const hang = (key: string) => reviews.ask(key, () => new Promise(() => {}), never);
  return { clock, reviews, asked, ask, hang };
}

test("an answer is kept for as long as it says, and not a moment longer", async () => {
  const { clock, ask, asked } = desk();
  assert.equal(await ask("a"), "a!");
  await clock.advance(999);
  await ask("a");
  assert.deepEqual(asked, ["a"]);
  await clock.advance(1);
  await ask("a");
  assert.deepEqual(asked, ["a", "a"]);
  await ask("b", 0);
  await ask("b", 0);
  assert.deepEqual(asked, ["a", "a", "b", "b"]);
});

test("the same question asked at once is put once, and who leaves takes nothing from the others", async () => {
  const { reviews } = desk();
  let put = 0;
  const answer = Promise.withResolvers<{ answer: string; keepMs: number }>();
  const leaving = new AbortController();
  const ask = (signal: AbortSignal) =>
    reviews.ask(
      "a",
      () => {
        put += 1;
        return answer.promise;
      },
      signal,
    );
  const [gone, stays] = [ask(leaving.signal), ask(never)];
  leaving.abort(new Error("left"));
  await assert.rejects(gone, /left/);
  answer.resolve({ answer: "yes", keepMs: 0 });
  assert.equal(await stays, "yes");
  assert.equal(put, 1);
});

test("no more answers are kept than there is room for, those asked for least lately going first", async () => {
  const { ask, asked } = desk();
  for (const key of ["a", "b", "c", "a", "d", "a", "b"]) await ask(key);
  assert.deepEqual(asked, ["a", "b", "c", "d", "b"]);
});

test("a question without an answer in time is an error and no answer, and those behind it get their turn", async () => {
  const { clock, ask, hang, asked } = desk();
  const hanging = Promise.allSettled([hang("x"), hang("y")]);
  await clock.advance(5000);
  const waiting = ask("a");
  await clock.advance(5000);
  for (const outcome of await hanging) {
    assert.ok(outcome.status === "rejected" && outcome.reason instanceof TooBusy);
  }
  assert.equal(await waiting, "a!");
  assert.deepEqual(asked, ["a"]);
});

test("more than may wait are turned away at once", async () => {
  const { clock, ask, hang } = desk();
  const hanging = Promise.allSettled([hang("x"), hang("y"), hang("z")]);
  await assert.rejects(ask("a"), TooBusy);
  await clock.advance(20_000);
  await hanging;
  assert.equal(await ask("a"), "a!");
});

test("an error is not kept", async () => {
  const { reviews, ask } = desk();
  await assert.rejects(
    reviews.ask("a", () => Promise.reject(new Error("away")), never),
    /away/,
  );
  assert.equal(await ask("a"), "a!");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { AccessReviewCache, TooBusy } from "./access-review-cache.ts";

const LIMITS = { entriesMax: 3, atOnceMax: 2, waitingMax: 1, answerMsMax: 10_000 };
const never = new AbortController().signal;

function reviewCache() {
  const clock = new ManualClock();
  const reviews = new AccessReviewCache<string>(clock, never, LIMITS);
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

test("an answer is cached for its keepMs", async () => {
  const { clock, ask, asked } = reviewCache();
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

test("identical concurrent reviews are sent once, and a caller that aborts does not abort the others", async () => {
  const { reviews } = reviewCache();
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

test("the cache keeps entriesMax answers and drops the least recently used", async () => {
  const { ask, asked } = reviewCache();
  for (const key of ["a", "b", "c", "a", "d", "a", "b"]) await ask(key);
  assert.deepEqual(asked, ["a", "b", "c", "d", "b"]);
});

test("a review without an answer in time is TooBusy, and waiting reviews go on", async () => {
  const { clock, ask, hang, asked } = reviewCache();
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

test("reviews beyond waitingMax are rejected at once", async () => {
  const { clock, ask, hang } = reviewCache();
  const hanging = Promise.allSettled([hang("x"), hang("y"), hang("z")]);
  await assert.rejects(ask("a"), TooBusy);
  await clock.advance(20_000);
  await hanging;
  assert.equal(await ask("a"), "a!");
});

test("an error is not cached", async () => {
  const { reviews, ask } = reviewCache();
  await assert.rejects(
    reviews.ask("a", () => Promise.reject(new Error("away")), never),
    /away/,
  );
  assert.equal(await ask("a"), "a!");
});

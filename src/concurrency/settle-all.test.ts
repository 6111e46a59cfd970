import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { settleAll } from "./settle-all.ts";

const failure = (text: string) => new Error(text);

test("settleAll waits for the others when one fails, and rejects with that failure", async () => {
  const first = failure("first");
  const slow = Promise.withResolvers<void>();
  let isSettled = false;
  const all = settleAll([Promise.reject(first), slow.promise]).finally(() => {
    isSettled = true;
  });
  const rejection = assert.rejects(all, (error) => error === first);
  await Promise.race([all.catch(() => {}), new ManualClock().advance(0)]);
  assert.equal(isSettled, false);
  slow.resolve();
  await rejection;
});

test("settleAll rejects with all failures when several fail, each text once", async () => {
  const [one, two, again] = [failure("one"), failure("two"), failure("one")];
  await assert.rejects(settleAll([Promise.reject(one), Promise.reject(two), Promise.reject(again)]), (error) => {
    assert.ok(error instanceof AggregateError);
    assert.deepEqual([error.errors, error.message], [[one, two, again], "[one, two]"]);
    return true;
  });
});

test("settleAll rejects with the reason of an abort that ends all of them", async () => {
  const reason = failure("aborted");
  await assert.rejects(settleAll([Promise.reject(reason), Promise.reject(reason)]), (error) => error === reason);
});

test("settleAll resolves when all of them do", async () => {
  await settleAll([Promise.resolve(), Promise.resolve()]);
  await settleAll([]);
});

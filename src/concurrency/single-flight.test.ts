import assert from "node:assert/strict";
import { test } from "node:test";
import { singleFlight } from "./single-flight.ts";

function controlled() {
  const runs: PromiseWithResolvers<number>[] = [];
  const ask = singleFlight(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  const end = async (index: number) => {
    runs[index]?.resolve(index);
    for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
  };
  return { runs, ask, end };
}

void test("callers during a run share the next run", async () => {
  const { runs, ask, end } = controlled();
  const first = ask();
  const later = [ask(), ask(), ask()];
  assert.equal(runs.length, 1);
  await end(0);
  assert.equal(await first, 0);
  assert.equal(runs.length, 2);
  const last = ask();
  await end(1);
  assert.deepEqual(await Promise.all(later), [1, 1, 1]);
  await end(2);
  assert.equal(await last, 2);
  assert.equal(runs.length, 3);
});

void test("a call while nothing runs starts a run", async () => {
  const { runs, ask, end } = controlled();
  const first = ask();
  await end(0);
  const second = ask();
  assert.equal(runs.length, 2);
  await end(1);
  assert.deepEqual([await first, await second], [0, 1]);
});

void test("a failed run rejects only the callers that share it", async () => {
  const { runs, ask, end } = controlled();
  const first = ask();
  const second = ask();
  runs[0]?.reject(new Error("no"));
  await assert.rejects(first, /no/);
  await end(1);
  assert.equal(await second, 1);
});

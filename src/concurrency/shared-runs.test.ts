import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedRuns } from "./shared-runs.ts";

test("a run is shared by those who join while it is under way, and the next one begins another", async () => {
  const runs = new SharedRuns<string, number>();
  const begun = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  let count = 0;
  const run = () => {
    count += 1;
    return begun[count - 1]?.promise ?? Promise.reject(new Error("one run too many"));
  };
  const [first, second] = [runs.join("a", run), runs.join("a", run)];
  assert.equal(runs.size, 1);
  begun[0]?.resolve(1);
  assert.deepEqual(await Promise.all([first, second]), [1, 1]);
  const third = runs.join("a", run);
  begun[1]?.resolve(2);
  assert.equal(await third, 2);
  assert.deepEqual([count, runs.size], [2, 0]);
});

test("a run of another key does not wait, and a failure is of those who joined it", async () => {
  const runs = new SharedRuns<string, number>();
  const never = Promise.withResolvers<number>();
  const first = runs.join("a", () => never.promise);
  await assert.rejects(
    runs.join("b", () => Promise.reject(new Error("refused"))),
    /refused/,
  );
  assert.equal(runs.size, 1);
  assert.equal(await runs.join("b", () => Promise.resolve(3)), 3);
  never.reject(new Error("ended"));
  await assert.rejects(first, /ended/);
});

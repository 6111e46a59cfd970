import assert from "node:assert/strict";
import { test } from "node:test";
import { SingleFlightGroup } from "./single-flight-group.ts";

test("joining a key shares its current run; the next join starts a new run", async () => {
  const runs = new SingleFlightGroup<string, number>();
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

test("runs of different keys are independent, and a failed run rejects only its own callers", async () => {
  const runs = new SingleFlightGroup<string, number>();
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

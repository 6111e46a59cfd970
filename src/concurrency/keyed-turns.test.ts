import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedTurns } from "./keyed-turns.ts";

test("keyed turns run work on one key in order, concurrently with work on other keys", async () => {
  const turns = new KeyedTurns<string>();
  const ran: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = turns.take("a", async () => {
    await gate.promise;
    ran.push("a1");
  });
  const second = turns.take("a", async () => void ran.push("a2"));
  await turns.take("b", async () => void ran.push("b1"));
  assert.deepEqual(ran, ["b1"]);
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(ran, ["b1", "a1", "a2"]);
});

test("keyed turns run the next work after a failure, and reject only the failed call", async () => {
  const turns = new KeyedTurns<string>();
  const failing = turns.take("a", () => Promise.reject(new Error("first")));
  const next = turns.take("a", async () => "second");
  await assert.rejects(failing, /first/);
  assert.equal(await next, "second");
});

test("keyed turns drop a key that has no work", async () => {
  const turns = new KeyedTurns<string>();
  await turns.take("a", async () => {});
  assert.equal(turns.size, 0);
});

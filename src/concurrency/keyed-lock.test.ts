import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedLock } from "./keyed-lock.ts";

test("keyed lock runs work on one key in order, concurrently with work on other keys", async () => {
  const locks = new KeyedLock<string>();
  const ran: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = locks.withLock("a", async () => {
    await gate.promise;
    ran.push("a1");
  });
  const second = locks.withLock("a", async () => void ran.push("a2"));
  await locks.withLock("b", async () => void ran.push("b1"));
  assert.deepEqual(ran, ["b1"]);
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(ran, ["b1", "a1", "a2"]);
});

test("keyed lock runs the next work after a failure, and rejects only the failed call", async () => {
  const locks = new KeyedLock<string>();
  const failing = locks.withLock("a", () => Promise.reject(new Error("first")));
  const next = locks.withLock("a", async () => "second");
  await assert.rejects(failing, /first/);
  assert.equal(await next, "second");
});

test("keyed lock drops a key that has no work", async () => {
  const locks = new KeyedLock<string>();
  await locks.withLock("a", async () => {});
  assert.equal(locks.size, 0);
});

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { raceAbort } from "./race-abort.ts";

void test("raceAbort settles as its promise does and removes its listener", async () => {
  const { signal } = new AbortController();
  assert.equal(await raceAbort(Promise.resolve(7), signal), 7);
  await assert.rejects(raceAbort(Promise.reject(new Error("broken")), signal), /broken/);
  await Promise.resolve();
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

void test("raceAbort rejects at once with the abort reason, swallows a later rejection of the promise", async () => {
  const reason = new Error("gave up");
  const giveUp = new AbortController();
  const slow = Promise.withResolvers<never>();
  const waiting = raceAbort(slow.promise, giveUp.signal);
  giveUp.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
  slow.reject(new Error("too late to matter"));
  await assert.rejects(raceAbort(Promise.reject(new Error("unheard")), giveUp.signal), (error) => error === reason);
});

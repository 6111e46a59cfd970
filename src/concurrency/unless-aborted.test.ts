import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { unlessAborted } from "./unless-aborted.ts";

void test("it passes on what the promise becomes, and takes its listener off", async () => {
  const { signal } = new AbortController();
  assert.equal(await unlessAborted(Promise.resolve(7), signal), 7);
  await assert.rejects(unlessAborted(Promise.reject(new Error("broken")), signal), /broken/);
  await Promise.resolve();
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

void test("an abort rejects at once with its reason, and a later failure of the promise is nobody's", async () => {
  const reason = new Error("gave up");
  const giveUp = new AbortController();
  const slow = Promise.withResolvers<never>();
  const waiting = unlessAborted(slow.promise, giveUp.signal);
  giveUp.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
  slow.reject(new Error("too late to matter"));
  await assert.rejects(unlessAborted(Promise.reject(new Error("unheard")), giveUp.signal), (error) => error === reason);
});

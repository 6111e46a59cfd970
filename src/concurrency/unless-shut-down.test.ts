import assert from "node:assert/strict";
import { test } from "node:test";
import { unlessShutDown } from "./unless-shut-down.ts";

test("unlessShutDown rejects on a failure before the shutdown, and resolves on one after it", async () => {
  const stop = new AbortController();
  const failing = () => Promise.reject(new Error("broken"));
  assert.equal(await unlessShutDown(stop.signal, async () => 7), 7);
  await assert.rejects(unlessShutDown(stop.signal, failing), /broken/);
  stop.abort();
  assert.equal(await unlessShutDown(stop.signal, failing), undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Notifier } from "./notifier.ts";

const { signal } = new AbortController();

test("notify() wakes a reader that waits for a newer version", async () => {
  const notifier = new Notifier();
  const woken = notifier.changed(notifier.version, signal);
  notifier.notify();
  assert.equal(await woken, notifier.version);
});

test("notifications before the wait are not lost, and are reported as one", async () => {
  const notifier = new Notifier();
  const seen = notifier.version;
  notifier.notify();
  notifier.notify();
  assert.equal(await notifier.changed(seen, signal), notifier.version);
});

test("notify works when detached from its notifier", () => {
  const notifier = new Notifier();
  const { notify } = notifier;
  notify();
  assert.equal(notifier.version, 1);
});

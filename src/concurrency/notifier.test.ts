import assert from "node:assert/strict";
import { test } from "node:test";
import { Notifier } from "./notifier.ts";

const { signal } = new AbortController();

test("a notification wakes whoever waits for a newer version", async () => {
  const notifier = new Notifier();
  const woken = notifier.changed(notifier.version, signal);
  notifier.notify();
  assert.equal(await woken, notifier.version);
});

test("a notification before the wait is not lost, and several are one", async () => {
  const notifier = new Notifier();
  const seen = notifier.version;
  notifier.notify();
  notifier.notify();
  assert.equal(await notifier.changed(seen, signal), notifier.version);
});

test("notify can be handed out as a function", () => {
  const notifier = new Notifier();
  const { notify } = notifier;
  notify();
  assert.equal(notifier.version, 1);
});

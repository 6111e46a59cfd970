import assert from "node:assert/strict";
import { test } from "node:test";
import { LoopHeartbeats } from "./loop-heartbeats.ts";

function begin() {
  const now = { ms: 0 };
  return { now, heartbeats: new LoopHeartbeats({ monotonicMs: () => now.ms }) };
}

test("late() names the loops without a turn within their own limits", () => {
  const { now, heartbeats } = begin();
  const lease = heartbeats.expect("lease", 10_000);
  const eviction = heartbeats.expect("eviction", 20_000);
  lease.beat();
  eviction.beat();
  now.ms = 10_000;
  assert.deepEqual(heartbeats.late(), []);
  now.ms = 11_000;
  assert.deepEqual(heartbeats.late(), ["lease (no turn for 11 s)"]);
  now.ms = 21_000;
  assert.deepEqual(heartbeats.late(), ["eviction (no turn for 21 s)", "lease (no turn for 21 s)"]);
  lease.beat();
  assert.deepEqual([heartbeats.late(), heartbeats.lastMs("lease")], [["eviction (no turn for 21 s)"], 21_000]);
  assert.deepEqual(heartbeats.names, ["eviction", "lease"]);
});

test("late() names a loop that has not begun within five minutes, whatever its limit", () => {
  const { now, heartbeats } = begin();
  heartbeats.expect("lease", 10_000);
  heartbeats.expect("node status", 400_000);
  now.ms = 300_000;
  assert.deepEqual(
    [heartbeats.late(), heartbeats.lastMs("lease"), heartbeats.lastMs("nobody")],
    [[], undefined, undefined],
  );
  now.ms = 301_000;
  assert.deepEqual(heartbeats.late(), ["lease (not begun for 301 s)", "node status (not begun for 301 s)"]);
});

test("a loop inside waits() is never late, and has its full limit again afterwards", async () => {
  const { now, heartbeats } = begin();
  const lease = heartbeats.expect("lease", 10_000);
  const outside = Promise.withResolvers<string>();
  const waiting = lease.waits(outside.promise);
  now.ms = 1e9;
  assert.deepEqual([heartbeats.late(), heartbeats.lastMs("lease")], [[], 0]);
  outside.resolve("there");
  assert.equal(await waiting, "there");
  assert.equal(heartbeats.lastMs("lease"), 1e9);
  now.ms += 11_000;
  assert.deepEqual(heartbeats.late(), ["lease (no turn for 11 s)"]);
  await assert.rejects(lease.waits(Promise.reject(new Error("ended"))), { message: "ended" });
  assert.deepEqual(heartbeats.late(), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

test("loops that took no turn for too long are named; who has not begun is not missed", () => {
  let nowMs = 0;
  const turns = new Turns({ monotonicMs: () => nowMs });
  assert.deepEqual([turns.late(10), turns.lastMs("lease")], [[], undefined]);
  turns.note("lease");
  turns.note("eviction");
  nowMs = 11;
  assert.deepEqual(turns.late(11), []);
  assert.deepEqual(turns.late(10), ["eviction", "lease"]);
  turns.note("lease");
  assert.deepEqual([turns.late(10), turns.lastMs("lease")], [["eviction"], 11]);
});

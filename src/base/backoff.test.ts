import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "./backoff.ts";

const curve = { firstMs: 800, maxMs: 30_000 };

void test("the wait doubles from the first to the largest and stays there, however many failures", () => {
  const waits = [1, 2, 3, 6, 7, 2000].map((failures) => backoffMs(curve, failures, 0.5));
  assert.deepEqual(waits, [800, 1600, 3200, 25_600, 30_000, 30_000]);
});

void test("chance spreads the wait by a quarter either way", () => {
  assert.equal(backoffMs(curve, 1, 0), 600);
  assert.ok(backoffMs(curve, 1, 0.999_999) < 1000);
});

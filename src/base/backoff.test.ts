import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "./backoff.ts";

const curve = { firstMs: 800, maxMs: 30_000 };

void test("backoff doubles from firstMs to maxMs and stays there", () => {
  const waits = [1, 2, 3, 6, 7, 2000].map((failures) => backoffMs(curve, failures, 0.5));
  assert.deepEqual(waits, [800, 1600, 3200, 25_600, 30_000, 30_000]);
});

void test("backoff is jittered by 25 % either way", () => {
  assert.equal(backoffMs(curve, 1, 0), 600);
  assert.ok(backoffMs(curve, 1, 0.999_999) < 1000);
});

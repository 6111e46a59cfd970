import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { quotaUsOf, sharesOf, sliceQuotaUs, weightOf } from "./cpu-units.ts";

void test("[14.6] CPU shares are 1024 per CPU, truncated, from 2 to 262144", () => {
  const cases: readonly (readonly [bigint, number])[] = [
    [0n, 2],
    [1n, 2],
    [2n, 2],
    [3n, 3],
    [100n, 102],
    [250n, 256],
    [1000n, 1024],
    [1500n, 1536],
    [256_000n, 262_144],
    [1_000_000n, 262_144],
  ];
  for (const [milli, shares] of cases) assert.equal(sharesOf(milli), shares, `${milli}m`);
});

void test("[14.6] a CPU quota is the limit's part of the period, at least 1 ms, and unset without a limit", () => {
  assert.equal(quotaUsOf(0n, 100_000), undefined);
  assert.equal(quotaUsOf(1n, 100_000), 1000);
  assert.equal(quotaUsOf(10n, 100_000), 1000);
  assert.equal(quotaUsOf(11n, 100_000), 1100);
  assert.equal(quotaUsOf(1500n, 100_000), 150_000);
  assert.equal(quotaUsOf(500n, 10_000), 5000);
  assert.equal(quotaUsOf(1_000_000n, 100_000), 100_000_000);
});

void test("[14.4] CPU weight is 20 for 500m, 79 for two CPUs, 1 for none", () => {
  assert.equal(weightOf(sharesOf(500n)), 20);
  assert.equal(weightOf(sharesOf(2000n)), 79);
  assert.equal(weightOf(sharesOf(0n)), 1);
  assert.equal(weightOf(1024), 39);
  assert.equal(weightOf(262_143), 9999);
  assert.equal(weightOf(262_144), 10_000);
});

void test("[14.4] CPU weight never decreases with more shares and stays from 1 to 10000", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 300_000 }), (shares) => {
      const weight = weightOf(shares);
      assert.ok(Number.isInteger(weight) && weight >= 1 && weight <= 10_000);
      assert.ok(weightOf(shares + 1) >= weight);
    }),
  );
});

void test("[14.4] a slice's quota is rounded up to hundredths of a CPU", () => {
  assert.equal(sliceQuotaUs(50_000, 100_000), 50_000);
  assert.equal(sliceQuotaUs(50_100, 100_000), 51_000);
  assert.equal(sliceQuotaUs(1100, 100_000), 2000);
  assert.equal(sliceQuotaUs(1000, 100_000), 1000);
  assert.equal(sliceQuotaUs(5001, 10_000), 5100);
  assert.equal(sliceQuotaUs(1000, 20_000), 1000);
  assert.equal(sliceQuotaUs(1001, 20_000), 1200);
  // Fractions of a microsecond per second are truncated before rounding, and stay truncated.
  assert.equal(sliceQuotaUs(100_000, 300_000), 102_000);
  assert.equal(sliceQuotaUs(1000, 999_999), 9999);
});

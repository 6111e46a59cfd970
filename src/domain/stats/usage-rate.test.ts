import assert from "node:assert/strict";
import { test } from "node:test";
import { cpu, group } from "../../../test/support/cgroup-stats-fixtures.ts";
import { type CpuSamples, lacksRates, nextSamples } from "./usage-rate.ts";

const at = (readWallMs: number, usageNs: number, createdWallMs = 0) =>
  group("/a", { readWallMs, createdWallMs, cpu: cpu({ usageNs }) });
const NONE: CpuSamples = new Map();
const rate = (samples: CpuSamples) => samples.get("/a")?.nanoCores;

void test("[21.4] the rate is the growth of the counter over the time between two readings", () => {
  const first = nextSamples(NONE, [at(1_000_000, 5e9)]);
  assert.deepEqual([rate(first), lacksRates(first)], [undefined, true]);
  const second = nextSamples(first, [at(1_010_000, 5.5e9)]);
  assert.deepEqual([rate(second), lacksRates(second)], [50_000_000, false]);
});

void test("[21.4] a cgroup created shortly before or since the last reading counts from zero", () => {
  assert.equal(rate(nextSamples(NONE, [at(1_010_000, 1e9, 1_000_000)])), 100_000_000);
  const other = nextSamples(NONE, [at(1_000_000, 5e9)]);
  assert.equal(
    rate(nextSamples(other, [at(1_030_000, 2e9, 1_020_000)])),
    200_000_000,
    "another group of the same name",
  );
});

void test("[21.4] readings too far apart or too close together give no new rate", () => {
  const first = nextSamples(NONE, [at(1_000_000, 5e9)]);
  assert.equal(rate(nextSamples(first, [at(1_060_001, 6e9)])), undefined);
  const second = nextSamples(first, [at(1_010_000, 6e9)]);
  assert.equal(rate(nextSamples(second, [at(1_010_050, 7e9)])), 100_000_000, "the previous rate stays");
  const third = nextSamples(nextSamples(second, [at(1_010_050, 7e9)]), [at(1_020_000, 7e9)]);
  assert.equal(rate(third), 100_000_000, "the interval counts from the older reading");
});

void test("a clock set back gives no rate, and a removed cgroup is forgotten", () => {
  const first = nextSamples(NONE, [at(1_000_000, 5e9)]);
  assert.equal(rate(nextSamples(first, [at(900_000, 6e9)])), undefined);
  assert.equal(nextSamples(first, []).size, 0);
  assert.equal(nextSamples(NONE, [{ id: "/a", readWallMs: 1, createdWallMs: 0 }]).size, 0);
});

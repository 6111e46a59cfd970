import assert from "node:assert/strict";
import { test } from "node:test";
import { parseThresholds } from "../../app/options/eviction-thresholds.ts";
import { NO_PRESSURE, nextPressure, type Observation, type Signal, thresholdsMet } from "./pressure.ts";

const DEFAULTS = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};
const thresholds = parseThresholds({ ...DEFAULTS, "pid.available": "1k" });
const MIB = 2n ** 20n;

for (const [signal, available, capacity, want] of [
  ["memory.available", 100n * MIB, 8192n * MIB, false],
  ["memory.available", 100n * MIB - 1n, 8192n * MIB, true],
  ["nodefs.available", 10n, 100n, false],
  ["nodefs.available", 9n, 100n, true],
  ["nodefs.inodesFree", 49n, 1000n, true],
  ["imagefs.available", 150n, 1000n, false],
  ["imagefs.available", 149n, 1000n, true],
  ["imagefs.inodesFree", 50n, 1000n, false],
  ["pid.available", 999n, 32_768n, true],
  ["pid.available", 1000n, 32_768n, false],
] as const) {
  test(`[17.2] ${signal} of ${available} out of ${capacity} ${want ? "meets" : "does not meet"} the threshold`, () => {
    const observations = new Map<Signal, Observation>([[signal, { available, capacity, atMonotonicMs: 0 }]]);
    assert.deepEqual(thresholdsMet(thresholds, observations), want ? [signal] : []);
  });
}

test("[17.2] a percentage is computed in single precision, as by the Go kubelet", () => {
  // float32(15)/100 is a little more than 0.15, and so are the others.
  const short = (percent: string, available: bigint) =>
    thresholdsMet(
      parseThresholds({ "nodefs.available": percent }),
      new Map([["nodefs.available", { available, capacity: 10n ** 12n, atMonotonicMs: 0 }]]),
    ).length === 1;
  for (const [percent, amount] of [
    ["15%", 150_000_005_960n],
    ["10%", 100_000_001_490n],
    ["5%", 50_000_000_745n],
    ["0.1%", 1_000_000_047n],
  ] as const) {
    assert.deepEqual([short(percent, amount), short(percent, amount - 1n)], [false, true], percent);
  }
});

test("[17.2] 0% and 100% disable a threshold", () => {
  assert.equal(parseThresholds({ "nodefs.available": "0%", "imagefs.available": "100%" }).length, 0);
});

test("[17.2] the threshold of memory.available also applies to allocatableMemory.available", () => {
  const observed = { available: 100n * MIB - 1n, capacity: 8192n * MIB, atMonotonicMs: 0 };
  assert.deepEqual(thresholdsMet(thresholds, new Map([["allocatableMemory.available", observed]])), [
    "allocatableMemory.available",
  ]);
});

test("[17.8] each pressure condition lasts for the transition period after it was last observed", () => {
  const hold = (nowMs: number) => ({ nowMs, holdMs: 300_000 });
  const first = nextPressure({ pressure: NO_PRESSURE, lastSeenMs: {} }, ["memory.available"], hold(0));
  assert.deepEqual(first.pressure, { memory: true, disk: false, pid: false });
  const second = nextPressure(first, ["imagefs.inodesFree"], hold(10_000));
  assert.deepEqual(second.pressure, { memory: true, disk: true, pid: false });
  const third = nextPressure(second, [], hold(299_999));
  assert.deepEqual(third.pressure, { memory: true, disk: true, pid: false });
  const fourth = nextPressure(third, ["pid.available"], hold(300_000));
  assert.deepEqual(fourth.pressure, { memory: false, disk: true, pid: true });
  assert.deepEqual(nextPressure(fourth, [], hold(310_000)).pressure, { memory: false, disk: false, pid: true });
});

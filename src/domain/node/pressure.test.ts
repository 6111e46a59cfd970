import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_PRESSURE } from "./conditions.ts";
import { amountOf, hardThresholds, nextPressure, type Signal, thresholdsMet, withAllocatable } from "./pressure.ts";

const DEFAULTS = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};
const thresholds = hardThresholds({ ...DEFAULTS, "pid.available": "1k" });
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
  test(`[17.2] ${signal} of ${available} out of ${capacity} ${want ? "is" : "is not"} too little`, () => {
    const observations = new Map<Signal, { available: bigint; capacity: bigint }>([[signal, { available, capacity }]]);
    assert.deepEqual(
      thresholdsMet(thresholds, observations).map((threshold) => threshold.signal),
      want ? [signal] : [],
    );
  });
}

test("[17.2] a share is reckoned in single precision, as the Go kubelet does", () => {
  // float32(15)/100 is a little more than 0.15, and so are the others.
  const share = (percent: string, capacity: bigint) => {
    const [threshold] = hardThresholds({ "nodefs.available": percent });
    return threshold === undefined ? undefined : amountOf(threshold.value, capacity);
  };
  assert.equal(share("15%", 10n ** 12n), 150_000_005_960n);
  assert.equal(share("10%", 10n ** 12n), 100_000_001_490n);
  assert.equal(share("5%", 10n ** 12n), 50_000_000_745n);
});

test("[17.2] 0% and 100% switch a signal off, and containerfs is that of its file system", () => {
  const statements = { "nodefs.available": "0%", "imagefs.available": "100%", "containerfs.available": "10%" };
  assert.deepEqual(hardThresholds(statements), []);
});

test("[17.2] pods together are held to the machine's threshold of memory", () => {
  const memory = hardThresholds({ "memory.available": "100Mi", "pid.available": "10" });
  assert.deepEqual(
    withAllocatable(memory).map(({ signal }) => signal),
    ["memory.available", "pid.available", "allocatableMemory.available"],
  );
});

test("[17.8] a condition is held for its period after it was last seen, each by itself", () => {
  const hold = (nowMs: number) => ({ nowMs, holdMs: 300_000 });
  const short = (signal: Signal) => thresholds.filter((threshold) => threshold.signal === signal);
  const first = nextPressure({ pressure: NO_PRESSURE, lastSeenMs: {} }, short("memory.available"), hold(0));
  assert.deepEqual(first.pressure, { memory: true, disk: false, pid: false });
  const second = nextPressure(first, short("imagefs.inodesFree"), hold(10_000));
  assert.deepEqual(second.pressure, { memory: true, disk: true, pid: false });
  const third = nextPressure(second, [], hold(299_999));
  assert.deepEqual(third.pressure, { memory: true, disk: true, pid: false });
  const fourth = nextPressure(third, short("pid.available"), hold(300_000));
  assert.deepEqual(fourth.pressure, { memory: false, disk: true, pid: true });
  assert.deepEqual(nextPressure(fourth, [], hold(310_000)).pressure, { memory: false, disk: false, pid: true });
});

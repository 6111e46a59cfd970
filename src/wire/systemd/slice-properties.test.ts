import assert from "node:assert/strict";
import { test } from "node:test";
import { podCgroupName } from "../../domain/resources/cgroup-name.ts";
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { newSliceProperties, sliceProperties } from "./slice-properties.ts";

const INFINITY = 18_446_744_073_709_551_615n;
const plain = (values: CgroupValues, version: 1 | 2 = 2) =>
  Object.fromEntries(sliceProperties(values, version).map(([name, { value }]) => [name, value]));

void test("[14.3] a new slice wants its parent, enables accounting, and has no default dependencies", () => {
  const properties = newSliceProperties(podCgroupName("Burstable", "u-1"));
  assert.deepEqual(properties, [
    ["Description", { signature: "s", value: "Kubernetes pods, kubepods-burstable-podu_1.slice" }],
    ["Wants", { signature: "as", value: ["kubepods-burstable.slice"] }],
    ["MemoryAccounting", { signature: "b", value: true }],
    ["CPUAccounting", { signature: "b", value: true }],
    ["IOAccounting", { signature: "b", value: true }],
    ["TasksAccounting", { signature: "b", value: true }],
    ["DefaultDependencies", { signature: "b", value: false }],
  ]);
  assert.deepEqual(newSliceProperties(["kubepods"])[1], ["Wants", { signature: "as", value: ["-.slice"] }]);
});

void test("[14.4] each value maps to its systemd property, and unset values to none", () => {
  assert.deepEqual(plain({}), {});
  assert.deepEqual(
    plain({
      cpuShares: 512,
      cpuQuotaUs: 51_000,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: 67_108_864n,
      pidsMax: 1024n,
      cpusetCpus: "0-1,9",
      hugepageLimitBytes: new Map([["2MB", 0n]]),
      unified: new Map([
        ["memory.min", "4096"],
        ["memory.low", "1"],
        ["memory.high", "max"],
        ["memory.swap.max", "0"],
        ["memory.oom.group", "1"],
      ]),
    }),
    {
      MemoryMax: 67_108_864n,
      CPUWeight: 20n,
      CPUQuotaPeriodUSec: 100_000n,
      CPUQuotaPerSecUSec: 510_000n,
      TasksMax: 1024n,
      AllowedCPUs: Uint8Array.of(3, 2),
      MemoryMin: 4096n,
      MemoryLow: 1n,
      MemoryHigh: INFINITY,
      MemorySwapMax: 0n,
    },
  );
});

void test("[14.4] no limit becomes infinity, and a PID limit of 0 becomes 1", () => {
  assert.deepEqual(plain({ cpuQuotaUs: -1, cpuPeriodUs: 20_000, memoryLimitBytes: -1n, pidsMax: -1n }), {
    MemorySwapMax: INFINITY,
    MemoryMax: INFINITY,
    CPUQuotaPeriodUSec: 20_000n,
    CPUQuotaPerSecUSec: INFINITY,
    TasksMax: INFINITY,
  });
  assert.deepEqual(plain({ cpuPeriodUs: 100_000 }), { CPUQuotaPeriodUSec: 100_000n, CPUQuotaPerSecUSec: INFINITY });
  assert.deepEqual(plain({ cpuQuotaUs: 20_000, pidsMax: 0n }), { CPUQuotaPerSecUSec: 200_000n, TasksMax: 1n });
});

void test("cgroup v1 uses MemoryLimit and CPUShares", () => {
  const unified = new Map([["memory.min", "1"]]);
  assert.deepEqual(plain({ cpuShares: 512, memoryLimitBytes: 4096n, unified }, 1), {
    MemoryLimit: 4096n,
    CPUShares: 512n,
  });
});

void test("an invalid CPU list is rejected with its text", () => {
  assert.throws(() => sliceProperties({ cpusetCpus: "x" }, 2), /the CPUs of a group are "x"/);
});

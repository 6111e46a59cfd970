import assert from "node:assert/strict";
import { test } from "node:test";
import { formatQuantity, parseQuantity } from "../../base/quantity.ts";
import { weightOf } from "./cpu-units.ts";
import {
  type HardThresholds,
  kubepodsValues,
  nodeAllocatable,
  type Reservations,
  reservationFault,
  reservedValues,
  thresholdQuantity,
} from "./node-allocatable.ts";
import { parseResourceList, type ResourceList } from "./resource-list.ts";

const reserved = (system: Record<string, string>, kube: Record<string, string> = {}): Reservations => ({
  systemReserved: parseResourceList(system),
  kubeReserved: parseResourceList(kube),
});
const texts = (list: ResourceList) => Object.fromEntries([...list].map(([name, q]) => [name, formatQuantity(q)]));
const hard: HardThresholds = new Map([
  ["memory.available", { kind: "amount", amount: parseQuantity("100Mi") }],
  ["nodefs.available", { kind: "share", share: 0.1 }],
]);

void test("[3.7] allocatable is capacity minus reservations and hard eviction thresholds", () => {
  const capacity = parseResourceList({ cpu: "4", memory: "8Gi", "ephemeral-storage": "1000Ki", pods: "110" });
  const reservations = reserved({ cpu: "250m", memory: "500Mi" }, { cpu: "250m", "ephemeral-storage": "100Ki" });
  assert.deepEqual(texts(nodeAllocatable(capacity, reservations, hard)), {
    cpu: "3500m",
    memory: "7592Mi",
    "ephemeral-storage": "800Ki",
    pods: "110",
  });
});

void test("[14.8] reservations and hard eviction thresholds above the capacity are a fault that names each resource", () => {
  const capacity = parseResourceList({ cpu: "2", memory: "1Gi", pods: "110" });
  assert.equal(reservationFault(capacity, reserved({ cpu: "1" }, { cpu: "1", memory: "900Mi" }), hard), undefined);
  assert.equal(
    reservationFault(capacity, reserved({ cpu: "1" }, { cpu: "1500m", memory: "1000Mi" }), hard),
    'invalid Node Allocatable configuration. Resource "cpu" has a reservation of 2500m but capacity of 2. Expected capacity >= reservation. Resource "memory" has a reservation of 1100Mi but capacity of 1Gi. Expected capacity >= reservation.',
  );
  assert.equal(reservationFault(capacity, reserved({}), new Map()), undefined);
});

void test("[3.7] allocatable is never negative, and huge pages are subtracted from memory", () => {
  const capacity = parseResourceList({ cpu: "1", memory: "4Gi", "hugepages-2Mi": "1Gi", "hugepages-1Gi": "2Gi" });
  const allocatable = nodeAllocatable(capacity, reserved({ cpu: "2" }), new Map());
  assert.deepEqual(texts(allocatable), { cpu: "0", memory: "1Gi", "hugepages-2Mi": "1Gi", "hugepages-1Gi": "2Gi" });
  const all = parseResourceList({ memory: "1Gi", "hugepages-1Gi": "2Gi" });
  assert.equal(texts(nodeAllocatable(all, reserved({}), new Map()))["memory"], "0");
});

void test("[3.7] a percentage threshold is computed in single precision and truncated", () => {
  const capacity = parseQuantity("8232796160");
  const tenth = thresholdQuantity({ kind: "share", share: 0.1 }, capacity);
  // 0.1 in single precision is 0.100000001490116...
  assert.equal(tenth.nanos / 1_000_000_000n, 823_279_628n);
});

void test("[14.8] kubepods is limited to capacity minus reservations, without the eviction threshold", () => {
  const machine = { cpus: 4, memoryBytes: 8n * 2n ** 30n, pidsMax: 32_768n, enforcePods: true };
  const reservations = reserved({ cpu: "500m", memory: "1Gi", pid: "1000" }, { cpu: "500m", memory: "512Mi" });
  assert.deepEqual(kubepodsValues({ ...machine, reservations }), {
    cpuShares: 3072,
    memoryLimitBytes: 6_979_321_856n,
    pidsMax: 31_768n,
  });
  assert.deepEqual(kubepodsValues({ ...machine, reservations, enforcePods: false, onlineCpus: "0-3" }), {
    cpuShares: 4096,
    memoryLimitBytes: 8_589_934_592n,
    pidsMax: 32_768n,
    cpusetCpus: "0-3",
  });
});

void test("[14.8] the weight of kubepods is 79 on a machine with two CPUs", () => {
  const values = kubepodsValues({
    cpus: 2,
    memoryBytes: 4n,
    pidsMax: 1n,
    enforcePods: true,
    reservations: reserved({}),
  });
  assert.equal(weightOf(values.cpuShares ?? 0), 79);
});

void test("[14.8] a reserved cgroup gets the listed resources, without memory and pids in the compressible variant", () => {
  const list = parseResourceList({ cpu: "500m", memory: "1Gi", pid: "1000", "hugepages-2Mi": "4Mi" });
  const machine = { hugepageSizes: ["1GB", "2MB"], onlineCpus: "0-3" };
  const none = new Map([
    ["1GB", 0n],
    ["2MB", 0n],
  ]);
  assert.deepEqual(reservedValues(list, machine, { compressible: false }), {
    cpuShares: 512,
    memoryLimitBytes: 1_073_741_824n,
    pidsMax: 1000n,
    cpusetCpus: "0-3",
    hugepageLimitBytes: new Map([...none, ["2MB", 4_194_304n]]),
  });
  const kept = reservedValues(list, { ...machine, keepsMemory: true }, { compressible: false });
  assert.deepEqual(kept.unified, new Map([["memory.min", "1073741824"]]));
  assert.equal(reservedValues(list, { ...machine, keepsMemory: true }, { compressible: true }).unified, undefined);
  const compressible = { cpuShares: 512, cpusetCpus: "0-3", hugepageLimitBytes: none };
  assert.deepEqual(reservedValues(list, machine, { compressible: true }), compressible);
  assert.deepEqual(
    reservedValues(parseResourceList({ memory: "1Gi" }), { hugepageSizes: [] }, { compressible: true }),
    {
      hugepageLimitBytes: new Map(),
    },
  );
});

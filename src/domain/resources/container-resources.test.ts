import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import type { ContainerAllocation } from "../allocation/pod-allocation.ts";
import {
  type ContainerResourceOptions,
  containerResources,
  overheadResources,
  sandboxResources,
} from "./container-resources.ts";

const v1: ContainerResourceOptions = {
  cgroupVersion: 1,
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000,
  memoryCapacityBytes: 8_000_000_000n,
  hugepageSizes: [],
  singleProcessOomKill: true,
  swap: { kind: "uncounted" },
};
const v2: ContainerResourceOptions = { ...v1, cgroupVersion: 2, singleProcessOomKill: false, swap: { kind: "none" } };

const podOf = (resources: ResourceRequirements, pod: Partial<Pod["spec"]> = {}): Pod => ({
  spec: { containers: [{ name: "a", resources }], ...pod },
});
const resourcesOf = (pod: Pod, options = v1, given: ContainerAllocation = {}) =>
  containerResources(pod, pod.spec?.containers[0] ?? { name: "none" }, options, given);

void test("[14.6] requests and limits become CPU shares, CPU quota and memory limit", () => {
  const pod = podOf({ requests: { cpu: "250m", memory: "800M" }, limits: { cpu: "500m", memory: "1Gi" } });
  assert.deepEqual(resourcesOf(pod), {
    cpuShares: 256,
    cpuPeriodUs: 100_000,
    cpuQuotaUs: 50_000,
    memoryLimitBytes: 1_073_741_824n,
    oomScoreAdj: 900,
    hugepageLimits: [],
  });
});

void test("[14.6] CPU shares follow the limit when there is no request; a zero request gives 2 shares", () => {
  assert.equal(resourcesOf(podOf({ limits: { cpu: "2" } })).cpuShares, 2048);
  assert.equal(resourcesOf(podOf({ requests: { cpu: "0" }, limits: { cpu: "2" } })).cpuShares, 2);
  assert.equal(resourcesOf(podOf({})).cpuShares, 2);
});

void test("[14.6] CPU quota is unset without a limit, -1 with exclusive CPUs, and unset with its period when CFS quota is off", () => {
  assert.equal(resourcesOf(podOf({ requests: { cpu: "1" } })).cpuQuotaUs, undefined);
  const pod = podOf({ limits: { cpu: "2", memory: "1Gi" } });
  const exclusive = resourcesOf(pod, v1, { cpus: "2-3" });
  assert.deepEqual([exclusive.cpuQuotaUs, exclusive.cpusetCpus, exclusive.cpusetMems], [-1, "2-3", undefined]);
  const near = resourcesOf(pod, v1, { memoryNodes: "1" });
  assert.deepEqual([near.cpuQuotaUs, near.cpusetCpus, near.cpusetMems], [200_000, undefined, "1"]);
  const free = resourcesOf(pod, { ...v1, cpuCfsQuota: false });
  assert.deepEqual([free.cpuQuotaUs, free.cpuPeriodUs], [undefined, undefined]);
});

void test("[14.6] pod-level limits apply to a container without limits, to its CPU shares too", () => {
  const pod = podOf({}, { resources: { requests: { cpu: "1" }, limits: { cpu: "2", memory: "1Gi" } } });
  const { cpuShares, cpuQuotaUs, memoryLimitBytes } = resourcesOf(pod);
  assert.deepEqual([cpuShares, cpuQuotaUs, memoryLimitBytes], [2048, 200_000, 1_073_741_824n]);
  const own = podOf(
    { limits: { cpu: "1" } },
    pod.spec?.resources === undefined ? {} : { resources: pod.spec.resources },
  );
  assert.equal(resourcesOf(own).cpuQuotaUs, 100_000);
});

void test("[14.6] on cgroup v2 memory.oom.group is 1 and memory.swap.max is 0 by default", () => {
  assert.deepEqual(resourcesOf(podOf({}), v2).unified, { "memory.oom.group": "1", "memory.swap.max": "0" });
  assert.deepEqual(resourcesOf(podOf({}), { ...v2, singleProcessOomKill: true }).unified, { "memory.swap.max": "0" });
  assert.deepEqual(resourcesOf(podOf({}), { ...v2, swap: { kind: "uncounted" } }).unified, { "memory.oom.group": "1" });
});

void test("[14.10] with limited swap memory.swap.max follows the memory request", () => {
  const limited = { ...v2, swap: { kind: "limited", capacityBytes: 4_000_000_000n } } as const;
  const unified = (resources: ResourceRequirements) => resourcesOf(podOf(resources), limited).unified;
  assert.deepEqual(unified({ requests: { memory: "2G" } }), {
    "memory.oom.group": "1",
    "memory.swap.max": "1000000000",
  });
  assert.deepEqual(unified({}), { "memory.oom.group": "1", "memory.swap.max": "0" });
});

void test("[14.11] memory QoS adds memory.low and memory.high to the other unified values", () => {
  const memoryQos = { tiered: true, throttlingFactor: 0.5, allocatableBytes: 8_000_000_000n };
  const pod = podOf({ requests: { memory: "8Ki" }, limits: { memory: "24Ki" } });
  assert.deepEqual(resourcesOf(pod, { ...v2, memoryQos }).unified, {
    "memory.oom.group": "1",
    "memory.swap.max": "0",
    "memory.low": "8192",
    "memory.high": "16384",
  });
});

void test("[14.6] on cgroup v1 memory plus swap is limited to the memory limit, without unified values", () => {
  const limited = resourcesOf(podOf({ limits: { memory: "64Mi" } }), { ...v1, swap: { kind: "none" } });
  assert.deepEqual([limited.memorySwapLimitBytes, limited.unified], [67_108_864n, undefined]);
  assert.equal(resourcesOf(podOf({}), { ...v1, swap: { kind: "none" } }).memorySwapLimitBytes, undefined);
});

void test("[14.6] each huge page size is limited to the container's limit, the pod's or zero", () => {
  const options = { ...v1, hugepageSizes: ["1GB", "2MB"] };
  assert.deepEqual(resourcesOf(podOf({ limits: { "hugepages-2Mi": "4Mi" } }), options).hugepageLimits, [
    { pageSize: "1GB", limitBytes: 0n },
    { pageSize: "2MB", limitBytes: 4_194_304n },
  ]);
  const whole = { resources: { limits: { "hugepages-2Mi": "8Mi", "hugepages-1Gi": "1Gi" } } };
  assert.deepEqual(resourcesOf(podOf({ limits: { "hugepages-2Mi": "4Mi" } }, whole), options).hugepageLimits, [
    { pageSize: "1GB", limitBytes: 1_073_741_824n },
    { pageSize: "2MB", limitBytes: 4_194_304n },
  ]);
});

void test("[14.6] the sandbox's resources are the sum without overhead; the overhead is separate", () => {
  const pod = podOf(
    { requests: { cpu: "250m", memory: "64Mi" }, limits: { cpu: "500m", memory: "64Mi" } },
    { overhead: { cpu: "100m", memory: "32Mi" } },
  );
  assert.equal(sandboxResources(pod, v1, { a: { cpus: "2-3" } }).cpuQuotaUs, -1);
  assert.deepEqual(sandboxResources(pod, v1, {}), {
    cpuShares: 256,
    cpuPeriodUs: 100_000,
    cpuQuotaUs: 50_000,
    memoryLimitBytes: 67_108_864n,
  });
  assert.deepEqual(overheadResources(pod, v1), {
    cpuShares: 102,
    cpuPeriodUs: 100_000,
    cpuQuotaUs: 10_000,
    memoryLimitBytes: 33_554_432n,
  });
  assert.deepEqual(overheadResources(podOf({}), v1), {});
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/gen/core-v1.ts";
import { specAllocation, withContainerAllocation } from "../allocation/pod-allocation.ts";
import { podResourcePlan } from "./pod-resource-plan.ts";

const plan = podResourcePlan({
  cgroupVersion: 2,
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000,
  podPidsLimit: 100n,
  memoryCapacityBytes: 4n * 2n ** 30n,
  hugepageSizes: ["2MB"],
  singleProcessOomKill: false,
  swap: { kind: "none" },
});

/** The pod whose values with the Go kubelet on a cgroup v2 machine are known. */
const limits = { cpu: "500m", memory: "64Mi" };
const pod: Pod = {
  metadata: { uid: "u-1" },
  spec: { containers: [{ name: "app", resources: { requests: limits, limits } }] },
};

void test("[14.4] the cgroup of a Guaranteed pod has its name and limits", () => {
  assert.deepEqual(plan.podCgroupName(pod), ["kubepods", "podu-1"]);
  assert.deepEqual(plan.podCgroupValues(pod, specAllocation(pod)), {
    cpuShares: 512,
    cpuQuotaUs: 50_000,
    cpuPeriodUs: 100_000,
    memoryLimitBytes: 67_108_864n,
    pidsMax: 100n,
    hugepageLimitBytes: new Map([["2MB", 0n]]),
  });
});

void test("[14.6] a Guaranteed container has the same limits, memory.oom.group 1 and no swap", () => {
  assert.deepEqual(plan.containerResources(pod, specAllocation(pod), "app"), {
    cpuShares: 512,
    cpuQuotaUs: 50_000,
    cpuPeriodUs: 100_000,
    memoryLimitBytes: 67_108_864n,
    oomScoreAdj: -997,
    hugepageLimits: [{ pageSize: "2MB", limitBytes: 0n }],
    unified: { "memory.oom.group": "1", "memory.swap.max": "0" },
  });
});

void test("[14.6] an ephemeral container gets no resources", () => {
  const { cpuShares, memoryLimitBytes, cpuQuotaUs } = plan.containerResources(pod, specAllocation(pod), "debugger");
  assert.deepEqual([cpuShares, memoryLimitBytes, cpuQuotaUs], [2, undefined, undefined]);
});

void test("[14.6] the sandbox gets the sum of the containers and no overhead", () => {
  const { overhead, resources } = plan.sandboxResources(pod, specAllocation(pod));
  assert.deepEqual([overhead, resources.memoryLimitBytes, resources.cpuShares], [{}, 67_108_864n, 512]);
});

void test("[25.10] huge page limits are passed to the runtime and to the pod cgroup", () => {
  const amounts = { "hugepages-2Mi": "6Mi", memory: "64Mi", cpu: "1" };
  const huge: Pod = {
    metadata: { uid: "u-2" },
    spec: { containers: [{ name: "app", resources: { requests: amounts, limits: amounts } }, { name: "other" }] },
  };
  assert.deepEqual(plan.containerResources(huge, specAllocation(huge), "app").hugepageLimits, [
    { pageSize: "2MB", limitBytes: 6_291_456n },
  ]);
  assert.deepEqual(plan.containerResources(huge, specAllocation(huge), "other").hugepageLimits, [
    { pageSize: "2MB", limitBytes: 0n },
  ]);
  assert.deepEqual(plan.podCgroupValues(huge, specAllocation(huge)).hugepageLimitBytes, new Map([["2MB", 6_291_456n]]));
});

void test("[7.29] memory.oom.group is 1 on cgroup v2 unless singleProcessOOMKill is set", () => {
  assert.equal(plan.containerResources(pod, specAllocation(pod), "app").unified?.["memory.oom.group"], "1");
  const single = podResourcePlan({
    cgroupVersion: 2,
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: 100_000,
    podPidsLimit: 100n,
    memoryCapacityBytes: 4n * 2n ** 30n,
    hugepageSizes: [],
    singleProcessOomKill: true,
    swap: { kind: "none" },
  });
  assert.equal(single.containerResources(pod, specAllocation(pod), "app").unified?.["memory.oom.group"], undefined);
});

void test("[14.6] a container with exclusive CPUs has no quota, nor have its pod cgroup and sandbox", () => {
  const allocation = withContainerAllocation(specAllocation(pod), "app", { cpus: "2-3", memoryNodes: "0" });
  const { cpusetCpus, cpusetMems, cpuQuotaUs } = plan.containerResources(pod, allocation, "app");
  assert.deepEqual([cpusetCpus, cpusetMems, cpuQuotaUs], ["2-3", "0", -1]);
  assert.equal(plan.podCgroupValues(pod, allocation).cpuQuotaUs, -1);
  assert.equal(plan.sandboxResources(pod, allocation).resources.cpuQuotaUs, -1);
  assert.equal(plan.containerResources(pod, allocation, "debugger").cpusetCpus, undefined);
});

void test("resources come from the allocation, not from a later spec", () => {
  const more = { cpu: "1", memory: "128Mi" };
  const resized: Pod = {
    ...pod,
    spec: { containers: [{ name: "app", resources: { requests: more, limits: more } }] },
  };
  const allocation = specAllocation(pod);
  assert.equal(plan.containerResources(resized, allocation, "app").memoryLimitBytes, 67_108_864n);
  assert.equal(plan.podCgroupValues(resized, allocation).cpuShares, 512);
  assert.equal(plan.sandboxResources(resized, allocation).resources.cpuShares, 512);
});

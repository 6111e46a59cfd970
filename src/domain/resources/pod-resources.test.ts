import assert from "node:assert/strict";
import { test } from "node:test";
import { goldenLines } from "../../../test/support/golden.ts";
import type { PodSpec } from "../../api/gen/core-v1.ts";
import { formatQuantity } from "../../base/quantity.ts";
import { hugepageBytes, hugepagesResource, kernelPageSize } from "./hugepages.ts";
import { oomScoreAdj } from "./oom-score.ts";
import { ORPHAN_CGROUP_VALUES, podCgroupValues } from "./pod-cgroup-values.ts";
import { podLimits, podRequests } from "./pod-resources.ts";
import { computeQosClass, podQosClass } from "./qos-class.ts";
import { parseResourceList, type ResourceList } from "./resource-list.ts";

/** Randomly generated pods, with what the Go kubelet v1.36.4 computes for them on a machine of 8232796160 bytes. */
interface Recorded {
  readonly spec: PodSpec;
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
  readonly qos: string;
  readonly enforceCpuLimits: boolean;
  readonly periodUs: number;
  readonly cgroup: {
    readonly cpuShares: number;
    readonly cpuQuotaUs?: number;
    readonly cpuPeriodUs?: number;
    readonly memory?: string;
    readonly hugepages: Readonly<Record<string, string>>;
  };
  readonly oomScoreAdj: Readonly<Record<string, number>>;
}

const MEMORY_BYTES = 8_232_796_160n;
const recorded = goldenLines("pod-resources.jsonl") as readonly Recorded[];

const texts = (list: ResourceList) => Object.fromEntries([...list].map(([name, q]) => [name, formatQuantity(q)]));

void test("the recording has 300 pods of every QoS class, with sidecars, overhead and pod-level resources", () => {
  assert.equal(recorded.length, 300);
  const counts = (qos: string) => recorded.filter((pod) => pod.qos === qos).length;
  for (const qos of ["Guaranteed", "Burstable", "BestEffort"]) assert.ok(counts(qos) > 20, `${qos}: ${counts(qos)}`);
  const has = (test: (spec: PodSpec) => boolean) => recorded.filter(({ spec }) => test(spec)).length > 20;
  assert.ok(has((spec) => spec.overhead !== undefined));
  assert.ok(has((spec) => spec.resources !== undefined));
  assert.ok(has((spec) => (spec.initContainers ?? []).some((c) => c.restartPolicy === "Always")));
});

void test("[14.4] pod requests and limits equal upstream's", () => {
  for (const { spec, requests, limits } of recorded) {
    assert.deepEqual(texts(podRequests(spec, { overhead: true })), requests, JSON.stringify(spec));
    assert.deepEqual(texts(podLimits(spec, { overhead: true })), limits, JSON.stringify(spec));
  }
});

void test("[14.3] the QoS class equals upstream's, and a published class wins", () => {
  for (const { spec, qos } of recorded) assert.equal(computeQosClass(spec), qos, JSON.stringify(spec));
  assert.equal(podQosClass({ spec: { containers: [] }, status: { qosClass: "Guaranteed" } }), "Guaranteed");
});

void test("[14.4] pod cgroup values equal upstream's", () => {
  for (const { spec, cgroup, enforceCpuLimits, periodUs } of recorded) {
    const options = {
      cpuCfsQuota: enforceCpuLimits,
      cpuCfsQuotaPeriodUs: periodUs,
      podPidsLimit: -1n,
      hugepageSizes: ["2MB", "1GB"],
    };
    const pages = Object.entries(cgroup.hugepages).map(([size, bytes]) => [
      kernelPageSize(BigInt(size)),
      BigInt(bytes),
    ]) as readonly (readonly [string, bigint])[];
    // Upstream passes zeros on, and the code that writes the files omits them.
    const want = {
      cpuShares: cgroup.cpuShares,
      ...((cgroup.cpuQuotaUs ?? 0) !== 0 && { cpuQuotaUs: cgroup.cpuQuotaUs }),
      ...(cgroup.cpuPeriodUs !== undefined && { cpuPeriodUs: cgroup.cpuPeriodUs }),
      ...((cgroup.memory ?? "0") !== "0" && { memoryLimitBytes: BigInt(cgroup.memory ?? 0) }),
      hugepageLimitBytes: new Map([["2MB", 0n], ["1GB", 0n], ...pages]),
    };
    assert.deepEqual(podCgroupValues({ spec }, options, {}), want, JSON.stringify(spec));
  }
});

void test("[14.7] the OOM score of every recorded container equals upstream's", () => {
  let containers = 0;
  for (const { spec, oomScoreAdj: want } of recorded) {
    for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
      assert.equal(oomScoreAdj({ spec }, container, MEMORY_BYTES), want[container.name], JSON.stringify(spec));
      containers += 1;
    }
  }
  assert.ok(containers > 500, String(containers));
});

void test("[14.4] podPidsLimit limits a pod's pids, and exclusive CPUs disable the quota", () => {
  const limits = { cpu: "2", memory: "1Gi" };
  const spec = { containers: [{ name: "a", resources: { requests: limits, limits } }] };
  const options = { cpuCfsQuota: true, cpuCfsQuotaPeriodUs: 100_000, podPidsLimit: 1024n, hugepageSizes: [] };
  assert.equal(podCgroupValues({ spec }, options, {}).pidsMax, 1024n);
  assert.equal(podCgroupValues({ spec }, { ...options, podPidsLimit: -1n }, {}).pidsMax, undefined);
  assert.equal(podCgroupValues({ spec }, options, { a: { cpus: "2-3" } }).cpuQuotaUs, -1);
  assert.equal(podCgroupValues({ spec }, options, { a: { memoryNodes: "0" } }).cpuQuotaUs, 200_000);
});

void test("[14.14] the cgroup of a terminated pod is set to 2 CPU shares", () => {
  assert.deepEqual(ORPHAN_CGROUP_VALUES, { cpuShares: 2 });
});

void test("[3.6] a huge page resource is named after its size", () => {
  assert.deepEqual([2_097_152n, 1_073_741_824n, 65_536n].map(hugepagesResource), [
    "hugepages-2Mi",
    "hugepages-1Gi",
    "hugepages-64Ki",
  ]);
});

void test("huge page sizes have the kernel's names", () => {
  const list = parseResourceList({
    "hugepages-2Mi": "4Mi",
    "hugepages-1Gi": "2Gi",
    "hugepages-64Ki": "128Ki",
    cpu: "1",
  });
  assert.deepEqual(
    hugepageBytes(list),
    new Map([
      ["2MB", 4_194_304n],
      ["1GB", 2_147_483_648n],
      ["64KB", 131_072n],
    ]),
  );
});

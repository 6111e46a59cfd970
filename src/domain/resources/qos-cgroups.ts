/**
 * The values of the cgroups between all pods and each pod. They share the CPU by QoS class and do not limit huge pages.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { quantityMilliValue } from "../../base/quantity.ts";
import { BEST_EFFORT, BURSTABLE, KUBEPODS } from "./cgroup-name.ts";
import type { CgroupName, CgroupValues } from "./cgroup-values.ts";
import { NO_SHARES, sharesOf } from "./cpu-units.ts";
import { type MemoryQos, tierMemoryFiles } from "./memory-qos.ts";
import { podRequests, specOf } from "./pod-resources.ts";
import { podQosClass } from "./qos-class.ts";

const UNBOUNDED_BYTES = 2n ** 62n;

/**
 * Burstable pods that have not terminated get shares for the sum of their requests; BestEffort pods get the minimum.
 */
export function qosCgroupValues(
  all: readonly Pod[],
  hugepageSizes: readonly string[],
  memoryQos?: MemoryQos,
): readonly (readonly [CgroupName, CgroupValues])[] {
  const pods = occupyingPods(all);
  const hugepageLimitBytes = new Map(hugepageSizes.map((size) => [size, UNBOUNDED_BYTES]));
  const kept = memoryQos === undefined ? undefined : tierMemoryFiles(pods, memoryQos);
  return [
    [KUBEPODS, { hugepageLimitBytes, ...(kept && { unified: kept.all }) }],
    [
      BURSTABLE,
      { cpuShares: sharesOf(burstableMilliCpu(pods)), hugepageLimitBytes, ...(kept && { unified: kept.burstable }) },
    ],
    [BEST_EFFORT, { cpuShares: NO_SHARES, hugepageLimitBytes }],
  ];
}

/** Pods that have not terminated. */
export const occupyingPods = (all: readonly Pod[]): readonly Pod[] =>
  all.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");

function burstableMilliCpu(pods: readonly Pod[]): bigint {
  let milliCpu = 0n;
  for (const pod of pods) {
    if (podQosClass(pod) !== "Burstable") continue;
    const request = podRequests(specOf(pod), { overhead: true }).get("cpu");
    if (request !== undefined) milliCpu += quantityMilliValue(request);
  }
  return milliCpu;
}

/** The groups between all pods and each pod: they share the CPU by class, and put no bound on huge pages. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { quantityMilliValue } from "../../base/quantity.ts";
import { BEST_EFFORT, BURSTABLE, KUBEPODS } from "./cgroup-name.ts";
import type { CgroupName, CgroupValues } from "./cgroup-values.ts";
import { NO_SHARES, sharesOf } from "./cpu-units.ts";
import { podRequests, specOf } from "./pod-resources.ts";
import { podQosClass } from "./qos-class.ts";

const UNBOUNDED_BYTES = 2n ** 62n;

/** Burstable pods that are not over weigh together as much as they request; the best effort is the rest. */
export function qosTierValues(
  pods: Iterable<Pod>,
  hugepageSizes: readonly string[],
): readonly (readonly [CgroupName, CgroupValues])[] {
  const hugepageLimitBytes = new Map(hugepageSizes.map((size) => [size, UNBOUNDED_BYTES]));
  return [
    [KUBEPODS, { hugepageLimitBytes }],
    [BURSTABLE, { cpuShares: sharesOf(burstableMilliCpu(pods)), hugepageLimitBytes }],
    [BEST_EFFORT, { cpuShares: NO_SHARES, hugepageLimitBytes }],
  ];
}

function burstableMilliCpu(pods: Iterable<Pod>): bigint {
  let milliCpu = 0n;
  for (const pod of pods) {
    const isOver = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
    if (isOver || podQosClass(pod) !== "Burstable") continue;
    const request = podRequests(specOf(pod), { overhead: true }).get("cpu");
    if (request !== undefined) milliCpu += quantityMilliValue(request);
  }
  return milliCpu;
}

/** The limits of a pod's cgroup, which holds all its containers. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { quantityMilliValue, quantityValue } from "../../base/quantity.ts";
import { type ContainerAllocations, hasExclusiveCpus } from "../allocation/pod-allocation.ts";
import type { CgroupValues } from "./cgroup-values.ts";
import { NO_SHARES, quotaUsOf, sharesOf } from "./cpu-units.ts";
import { hugepageBytes, hugepageLimits } from "./hugepages.ts";
import { type MemoryQos, podMemoryFiles } from "./memory-qos.ts";
import { isLimitedThroughout, podLimits, podRequests, specOf } from "./pod-resources.ts";
import { podQosClass } from "./qos-class.ts";

export interface PodCgroupOptions {
  /** Off: CPU limits are not enforced. */
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: number;
  /** Zero or less: Deckhand sets no limit. */
  readonly podPidsLimit: bigint;
  /** The machine's huge page sizes, as the kernel spells them. */
  readonly hugepageSizes: readonly string[];
  /** Set only with the feature gate, and only on cgroup v2. */
  readonly memoryQos?: MemoryQos;
}

/** For a terminated pod that is still being cleaned up: the minimum. */
export const ORPHAN_CGROUP_VALUES: CgroupValues = { cpuShares: NO_SHARES };

export function podCgroupValues(pod: Pod, options: PodCgroupOptions, containers: ContainerAllocations): CgroupValues {
  const requests = podRequests(specOf(pod), { overhead: true });
  const unified = options.memoryQos === undefined ? new Map<string, string>() : podMemoryFiles(pod, options.memoryQos);
  const common = {
    ...(unified.size > 0 && { unified }),
    hugepageLimitBytes: hugepageLimits(options.hugepageSizes, hugepageBytes(requests)),
    ...(options.podPidsLimit > 0n && { pidsMax: options.podPidsLimit }),
  };
  const qosClass = podQosClass(pod);
  if (qosClass === "BestEffort") return { ...common, cpuShares: NO_SHARES };
  const isLimited = (name: "cpu" | "memory") => qosClass === "Guaranteed" || isLimitedThroughout(specOf(pod), name);
  const cpuRequest = requests.get("cpu");
  return {
    ...common,
    cpuShares: cpuRequest === undefined ? NO_SHARES : sharesOf(quantityMilliValue(cpuRequest)),
    ...(isLimited("cpu") && cpuLimit(pod, options, hasExclusiveCpus(containers))),
    ...(isLimited("memory") && memoryLimit(pod)),
  };
}

function cpuLimit(pod: Pod, options: PodCgroupOptions, exclusiveCpus: boolean): CgroupValues {
  const periodUs = options.cpuCfsQuotaPeriodUs;
  // A pod with exclusive CPUs must not be throttled on them.
  if (!options.cpuCfsQuota || exclusiveCpus) return { cpuQuotaUs: -1, cpuPeriodUs: periodUs };
  const limit = podLimits(specOf(pod), { overhead: true }).get("cpu");
  const quotaUs = limit === undefined ? undefined : quotaUsOf(quantityMilliValue(limit), periodUs);
  return { cpuPeriodUs: periodUs, ...(quotaUs !== undefined && { cpuQuotaUs: quotaUs }) };
}

function memoryLimit(pod: Pod): CgroupValues {
  const limit = podLimits(specOf(pod), { overhead: true }).get("memory");
  return limit === undefined || limit.nanos === 0n ? {} : { memoryLimitBytes: quantityValue(limit) };
}

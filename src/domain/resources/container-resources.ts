/** Computes the resources that the runtime gets for a container and for a sandbox. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { type Quantity, quantityMilliValue, quantityValue } from "../../base/quantity.ts";
import { type ContainerAllocation, type ContainerAllocations, hasExclusiveCpus } from "../allocation/pod-allocation.ts";
import type { LinuxResources } from "../runtime/resources.ts";
import { quotaUsOf, sharesOf } from "./cpu-units.ts";
import { hugepageBytes, hugepageLimits } from "./hugepages.ts";
import { containerMemoryFiles, type MemoryQos } from "./memory-qos.ts";
import { oomScoreAdj } from "./oom-score.ts";
import { hasPodLevelResources, podLimits, podRequests, specOf } from "./pod-resources.ts";
import { parseResourceList, type ResourceList } from "./resource-list.ts";
import { type SwapSettings, swapLimitBytes } from "./swap.ts";

/** Node settings, the same for all containers. */
export interface ContainerResourceOptions {
  readonly cgroupVersion: 1 | 2;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: number;
  readonly memoryCapacityBytes: bigint;
  /** The machine's huge page sizes, as the kernel spells them. */
  readonly hugepageSizes: readonly string[];
  /** Off: the kernel kills all processes of a container that runs out of memory. Only cgroup v2 supports that. */
  readonly singleProcessOomKill: boolean;
  readonly swap: SwapSettings;
  /** Set only with the feature gate, and only on cgroup v2. */
  readonly memoryQos?: MemoryQos;
}

interface Amounts {
  readonly cpuRequest: Quantity | undefined;
  readonly cpuLimit: Quantity | undefined;
  readonly memoryLimit: Quantity | undefined;
}

export function containerResources(
  pod: Pod,
  container: Pick<Container, "name" | "resources">,
  options: ContainerResourceOptions,
  { cpus, memoryNodes }: ContainerAllocation,
): LinuxResources {
  const spec = specOf(pod);
  const own = parseResourceList(container.resources?.limits);
  const whole = hasPodLevelResources(spec) ? parseResourceList(spec.resources?.limits) : undefined;
  const limit = (name: string) => ((own.get(name)?.nanos ?? 0n) !== 0n ? own.get(name) : (whole ?? own).get(name));
  const resources = linuxResources(
    {
      cpuRequest: parseResourceList(container.resources?.requests).get("cpu"),
      cpuLimit: limit("cpu"),
      memoryLimit: limit("memory"),
    },
    options,
    cpus !== undefined,
  );
  return {
    ...withMemoryQos(withSwap(resources, pod, container, options), pod, container, options),
    oomScoreAdj: oomScoreAdj(pod, container, options.memoryCapacityBytes),
    hugepageLimits: containerHugepages(own, whole, options.hugepageSizes),
    ...(cpus !== undefined && { cpusetCpus: cpus }),
    ...(memoryNodes !== undefined && { cpusetMems: memoryNodes }),
  };
}

/**
 * For the sandbox: all containers together, without overhead. A runtime with virtual machines sizes the machine by it.
 */
export function sandboxResources(
  pod: Pod,
  options: ContainerResourceOptions,
  containers: ContainerAllocations,
): LinuxResources {
  const limits = podLimits(specOf(pod), { overhead: false });
  const amounts = {
    cpuRequest: podRequests(specOf(pod), { overhead: false }).get("cpu"),
    cpuLimit: limits.get("cpu"),
    memoryLimit: limits.get("memory"),
  };
  return linuxResources(amounts, options, hasExclusiveCpus(containers));
}

/** The runtime's overhead for the pod, as a request and as a limit. */
export function overheadResources(pod: Pod, options: ContainerResourceOptions): LinuxResources {
  const { overhead } = specOf(pod);
  if (overhead === undefined) return {};
  const list = parseResourceList(overhead);
  const cpu = list.get("cpu");
  return linuxResources({ cpuRequest: cpu, cpuLimit: cpu, memoryLimit: list.get("memory") }, options, false);
}

function linuxResources(amounts: Amounts, options: ContainerResourceOptions, exclusiveCpus: boolean): LinuxResources {
  const milli = (quantity: Quantity | undefined) => (quantity === undefined ? 0n : quantityMilliValue(quantity));
  const { cpuRequest, cpuLimit, memoryLimit } = amounts;
  const quotaUs = exclusiveCpus ? -1 : quotaUsOf(milli(cpuLimit), options.cpuCfsQuotaPeriodUs);
  const killsGroup = options.cgroupVersion === 2 && !options.singleProcessOomKill;
  return {
    // A container with only a limit requests as much as its limit.
    cpuShares: sharesOf(milli(cpuRequest ?? cpuLimit)),
    ...(options.cpuCfsQuota && { cpuPeriodUs: options.cpuCfsQuotaPeriodUs }),
    ...(options.cpuCfsQuota && quotaUs !== undefined && { cpuQuotaUs: quotaUs }),
    ...(memoryLimit !== undefined && memoryLimit.nanos !== 0n && { memoryLimitBytes: quantityValue(memoryLimit) }),
    ...(killsGroup && { unified: { "memory.oom.group": "1" } }),
  };
}

function withSwap(
  resources: LinuxResources,
  pod: Pod,
  container: Pick<Container, "resources">,
  { swap, cgroupVersion, memoryCapacityBytes }: ContainerResourceOptions,
): LinuxResources {
  if (swap.kind === "uncounted") return resources;
  if (cgroupVersion === 2) {
    const machine = { memoryBytes: memoryCapacityBytes, swapBytes: swap.kind === "limited" ? swap.capacityBytes : 0n };
    const limit = String(swapLimitBytes(pod, container, machine));
    return { ...resources, unified: { ...resources.unified, "memory.swap.max": limit } };
  }
  // On cgroup v1 this limits memory and swap together, and means nothing without a memory limit.
  if (resources.memoryLimitBytes === undefined) return resources;
  return { ...resources, memorySwapLimitBytes: resources.memoryLimitBytes };
}

function withMemoryQos(
  resources: LinuxResources,
  pod: Pod,
  container: Pick<Container, "resources">,
  { memoryQos }: ContainerResourceOptions,
): LinuxResources {
  if (memoryQos === undefined) return resources;
  return { ...resources, unified: { ...resources.unified, ...containerMemoryFiles(pod, container, memoryQos) } };
}

/** Every page size of the machine is listed. A container without its own limit for a size gets the pod-level limit. */
function containerHugepages(own: ResourceList, whole: ResourceList | undefined, sizes: readonly string[]) {
  const wanted = new Map([...(whole === undefined ? [] : hugepageBytes(whole)), ...hugepageBytes(own)]);
  const limits = hugepageLimits(sizes, wanted);
  return sizes.map((pageSize) => ({ pageSize, limitBytes: limits.get(pageSize) ?? 0n }));
}

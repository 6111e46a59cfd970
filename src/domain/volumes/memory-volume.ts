/** The maximum size of a volume in memory, and the page size of a volume of huge pages. */
import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { parseQuantity, quantityValue } from "../../base/quantity.ts";
import { podCgroupValues } from "../resources/pod-cgroup-values.ts";

/**
 * The smallest limit that is set: the volume's, the pod's, or the node's allocatable memory. Undefined: the kernel's
 * default.
 */
export function memoryVolumeBytes(pod: Pod, { emptyDir }: Volume, allocatableBytes: bigint): bigint | undefined {
  const options = { cpuCfsQuota: false, cpuCfsQuotaPeriodUs: 100_000, podPidsLimit: 0n, hugepageSizes: [] };
  // Exclusive resources of containers do not change the memory limit.
  const { memoryLimitBytes } = podCgroupValues(pod, options, {});
  const own = emptyDir?.sizeLimit === undefined ? undefined : quantityValue(parseQuantity(emptyDir.sizeLimit));
  let bytes = allocatableBytes;
  for (const limit of [memoryLimitBytes, own]) if (limit !== undefined && limit > 0n && limit <= bytes) bytes = limit;
  return bytes > 0n ? bytes : undefined;
}

export const isHugepageMedium = (medium: string): boolean => medium === "HugePages" || medium.startsWith("HugePages-");

export type HugepageSize =
  | { readonly kind: "size"; readonly text: string }
  | { readonly kind: "refused"; readonly message: string };

/** The page size, as the pod's requests spell it: the one that the medium names, or the only one. */
export function hugepageVolumeSize({ spec }: Pod, medium: string): HugepageSize {
  const requests = [
    spec?.resources?.requests,
    ...(spec?.containers ?? []).map(({ resources }) => resources?.requests),
    ...(spec?.initContainers ?? []).map(({ resources }) => resources?.requests),
  ];
  const sizes = new Map<bigint, string>();
  for (const name of requests.flatMap((list) => Object.keys(list ?? {}))) {
    if (!name.startsWith("hugepages-")) continue;
    const text = name.slice("hugepages-".length);
    sizes.set(quantityValue(parseQuantity(text)), text);
  }
  const none = `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`;
  if (medium !== "HugePages") {
    const text = sizes.get(quantityValue(parseQuantity(medium.slice("HugePages-".length))));
    return text === undefined ? { kind: "refused", message: none } : { kind: "size", text };
  }
  const [only, ...others] = sizes.values();
  if (only === undefined) return { kind: "refused", message: none };
  if (others.length === 0) return { kind: "size", text: only };
  return { kind: "refused", message: `medium: ${medium} can't be used if container requests multiple huge page sizes` };
}

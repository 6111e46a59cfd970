/** How much of the machine's swap a container may use. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { compareQuantities, type Quantity, quantityValue } from "../../base/quantity.ts";
import { isCriticalPod } from "../pod/pod-identity.ts";
import { podQosClass } from "./qos-class.ts";
import { isNone, parseResourceList, type ResourceList } from "./resource-list.ts";

/** "uncounted": the kernel cannot limit swap. "limited": in proportion to the container's memory request. */
export type SwapSettings =
  | { readonly kind: "uncounted" }
  | { readonly kind: "none" }
  | { readonly kind: "limited"; readonly capacityBytes: bigint };

/** Why the kubelet may not start on a machine with swap, in upstream's words. Undefined if it may. */
export const swapFault = (swapBytes: bigint, { failSwapOn }: { readonly failSwapOn: boolean }): string | undefined =>
  failSwapOn && swapBytes > 0n
    ? "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"
    : undefined;

/** Only containers of non-critical Burstable pods may use swap, and only if their memory request and limit differ. */
export function mayHaveSwap(pod: Pod, { resources }: Pick<Container, "resources">): boolean {
  if (isCriticalPod(pod) || podQosClass(pod) !== "Burstable") return false;
  const [requests, limits] = [parseResourceList(resources?.requests), parseResourceList(resources?.limits)];
  if (isNone(requests, "memory") && isNone(limits, "memory")) return false;
  return compareQuantities(memoryOf(requests), memoryOf(limits)) !== 0;
}

/**
 * The container's fraction of the swap is its request's fraction of the memory. Computed as upstream does, with the
 * same loss in the last digits.
 */
export function swapLimitBytes(
  pod: Pod,
  container: Pick<Container, "resources">,
  machine: { readonly memoryBytes: bigint; readonly swapBytes: bigint },
): bigint {
  if (!mayHaveSwap(pod, container)) return 0n;
  const requested = quantityValue(memoryOf(parseResourceList(container.resources?.requests)));
  if (machine.memoryBytes <= 0n || requested > machine.memoryBytes) return 0n;
  return BigInt(Math.trunc((Number(requested) / Number(machine.memoryBytes)) * Number(machine.swapBytes)));
}

const ZERO: Quantity = { nanos: 0n, format: "DecimalSI" };

const memoryOf = (list: ResourceList) => list.get("memory") ?? ZERO;

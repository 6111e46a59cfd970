/**
 * How containers may use swap on this node. Where the kernel does not account swap separately, as on cgroup v1, pods
 * get none.
 */
import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { SwapSettings } from "../../domain/resources/swap.ts";
import type { Cgroups } from "../../ports/cgroups.ts";

export async function swapSettings(
  cgroups: Pick<Cgroups, "hasSwapAccounting">,
  swapBytes: bigint,
  isLimited: boolean,
): Promise<SwapSettings> {
  if (!(await cgroups.hasSwapAccounting(KUBEPODS))) return { kind: "uncounted" };
  return isLimited ? { kind: "limited", capacityBytes: swapBytes } : { kind: "none" };
}

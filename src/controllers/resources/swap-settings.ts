/** How the node lets containers use swap. On cgroup v1 the kernel counts swap and memory together, and pods get none. */
import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { SwapSettings } from "../../domain/resources/swap.ts";
import type { Cgroups } from "../../ports/cgroups.ts";

export async function swapSettings(
  cgroups: Pick<Cgroups, "countsSwap">,
  swapBytes: bigint,
  isLimited: boolean,
): Promise<SwapSettings> {
  if (!(await cgroups.countsSwap(KUBEPODS))) return { kind: "uncounted" };
  return isLimited ? { kind: "limited", capacityBytes: swapBytes } : { kind: "none" };
}

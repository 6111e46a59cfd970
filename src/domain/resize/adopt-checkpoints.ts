/**
 * Adopts the allocated and actuated resources from a Go kubelet that ran on this node before. The journal is better
 * than files that Deckhand wrote: they count only for a pod that the journal does not have.
 */
import { type AllocationFact, type JournaledPod, nothingKnown } from "../journal/journaled-pod.ts";
import { equalAllocations, type ResourceAllocation } from "./allocation.ts";
import type { ResourceAllocations } from "./checkpoint.ts";

export interface FoundCheckpoint {
  readonly pods: ResourceAllocations;
  readonly isOwn: boolean;
}

export function adoptCheckpoints(
  journaledPods: ReadonlyMap<string, JournaledPod>,
  allocated: FoundCheckpoint,
  actuated: FoundCheckpoint,
): ReadonlyMap<string, JournaledPod> {
  const all = new Map(journaledPods);
  for (const [uid, allocation] of allocated.pods) {
    const known = journaledPods.get(uid);
    const own = known?.allocated;
    if (own !== undefined && (allocated.isOwn || equalAllocations(own.allocation, allocation))) continue;
    const found = foreign(allocation, actuated.pods.get(uid), own);
    all.set(uid, { ...(known ?? nothingKnown({ uid, pod: "" })), allocated: found });
  }
  return all;
}

/**
 * The actuated resources in a Go kubelet's file name every container's limits, also those inherited from its pod. They
 * are compared as such.
 */
const foreign = (
  allocation: ResourceAllocation,
  actuated: ResourceAllocation | undefined,
  own: AllocationFact | undefined,
): AllocationFact => ({
  allocation,
  generation: own?.generation ?? 0,
  // No container counts as younger than this allocation.
  wallMs: Number.POSITIVE_INFINITY,
  actuated: actuated ?? allocation,
  isForeign: true,
  // The Go kubelet's files do not hold exclusive resources of containers.
  ...(own?.containerAllocations === undefined ? {} : { containerAllocations: own.containerAllocations }),
});

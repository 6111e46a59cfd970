/**
 * Adopts the allocated and actuated resources from a Go kubelet that ran on this node before. The journal is better
 * than files that Deckhand wrote: they count only for a pod that the journal does not have.
 */
import { type AllocationFact, nothingKnown, type UidFacts } from "../journal/facts.ts";
import { equalAllocations, type ResourceAllocation } from "./allocation.ts";
import type { ResourceAllocations } from "./checkpoint.ts";

export interface FoundCheckpoint {
  readonly pods: ResourceAllocations;
  readonly isOwn: boolean;
}

export function withCheckpoints(
  facts: ReadonlyMap<string, UidFacts>,
  allocated: FoundCheckpoint,
  actuated: FoundCheckpoint,
): ReadonlyMap<string, UidFacts> {
  const all = new Map(facts);
  for (const [uid, allocation] of allocated.pods) {
    const known = facts.get(uid);
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

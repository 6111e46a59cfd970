/**
 * What a Go kubelet that ran here before us allocated and carried out, taken for known. A file that we wrote says nothing that the journal does not say
 * better: it counts only for a pod that the journal does not know.
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

/** What it had carried out names every container's limits, also those that its pod gives: it is compared as such. */
const foreign = (
  allocation: ResourceAllocation,
  actuated: ResourceAllocation | undefined,
  own: AllocationFact | undefined,
): AllocationFact => ({
  allocation,
  generation: own?.generation ?? 0,
  // No container is known to be younger than it.
  wallMs: Number.POSITIVE_INFINITY,
  actuated: actuated ?? allocation,
  isForeign: true,
  // That kubelet's files do not say what containers have for themselves.
  ...(own?.containerAllocations === undefined ? {} : { containerAllocations: own.containerAllocations }),
});

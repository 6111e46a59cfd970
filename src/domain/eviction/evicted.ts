/**
 * Eviction as the origin of a termination request. Only a pod that is evicted because the node is short of a resource
 * is a disruption: one that exceeds its own limit of local storage failed by itself.
 */
export const EVICTED = "Evicted";

/** The grace period of pods that are evicted for a hard threshold or for a limit of local storage. */
export const IMMEDIATE_GRACE_SECONDS = 1;

/** The beginning of the message of every pod that is evicted because of a threshold. */
export const LOW_ON_RESOURCE = "The node was low on resource: ";

export const EVICTION = {
  reason: EVICTED,
  disruption: (message: string) => (message.startsWith(LOW_ON_RESOURCE) ? message : undefined),
} as const;

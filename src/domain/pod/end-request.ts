/**
 * Requests by components of this node to terminate a pod early. Each requester writes its own table. The pod's worker
 * terminates a pod that has a request in any table: as Failed, with the requester's reason and message.
 */
import { PREEMPTION } from "../admission/preemption.ts";
import { EVICTION } from "../eviction/evicted.ts";

export interface EndRequest {
  /** Reason and message for the pod's status. */
  readonly reason: string;
  readonly message: string;
  /** If omitted, the pod's own grace period applies. */
  readonly graceSeconds?: number;
}

export interface EndRequester {
  readonly reason: string;
  /**
   * The message of the DisruptionTarget condition, from the request's message. Undefined: the termination is the pod's
   * own fault, and the pod gets no such condition.
   */
  readonly disruption: (message: string) => string | undefined;
}

/** In order of precedence: the reason and message of the first requester apply. */
export const END_REQUESTERS = {
  preemption: PREEMPTION,
  eviction: EVICTION,
} as const satisfies Readonly<Record<string, EndRequester>>;

export type EndRequesterName = keyof typeof END_REQUESTERS;

/** Keeps the reason and message of the first request, and the shorter grace period. */
export function foldEndRequests(first: EndRequest, next: EndRequest): EndRequest {
  const { graceSeconds = Number.POSITIVE_INFINITY } = first;
  const shorter = Math.min(graceSeconds, next.graceSeconds ?? Number.POSITIVE_INFINITY);
  return shorter === graceSeconds ? first : { ...first, graceSeconds: shorter };
}

/** How long a requester waits for the pod to end before it reports that the pod is late. */
export const latenessMs = (graceSeconds: number): number => Math.max(LATENESS_MS_MIN, graceSeconds * 1500);

const LATENESS_MS_MIN = 10_000;

/** The event that a requester emits for a pod that is late. */
export const EXCEEDED_GRACE_PERIOD = {
  reason: "ExceededGracePeriod",
  message: "Container runtime did not kill the pod within specified grace period.",
} as const;

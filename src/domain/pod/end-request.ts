/**
 * Who on this node may ask that a pod end before its time. Each requester writes a table of its own; the pod's worker ends a pod that has a request in
 * any of them, as failed and with the requester's words.
 */
import { PREEMPTION } from "../admission/preemption.ts";

export interface EndRequest {
  /** Of the pod's status. */
  readonly reason: string;
  readonly message: string;
  /** Left out: the grace period that the pod itself has. */
  readonly graceSeconds?: number;
}

export interface EndRequester {
  readonly reason: string;
  /** The message of the condition DisruptionTarget. */
  readonly disruption: string;
}

/** In the order in which their words count. */
export const END_REQUESTERS = {
  preemption: PREEMPTION,
} as const satisfies Readonly<Record<string, EndRequester>>;

export type EndRequesterName = keyof typeof END_REQUESTERS;

/** The words of the first, and the shorter grace period. */
export function foldEndRequests(first: EndRequest, next: EndRequest): EndRequest {
  const { graceSeconds = Number.POSITIVE_INFINITY } = first;
  const shorter = Math.min(graceSeconds, next.graceSeconds ?? Number.POSITIVE_INFINITY);
  return shorter === graceSeconds ? first : { ...first, graceSeconds: shorter };
}

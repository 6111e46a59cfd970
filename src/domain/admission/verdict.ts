import type { Pod } from "../../api/gen/core-v1.ts";
import type { PodAllocation } from "../allocation/pod-allocation.ts";
import { allocationOf } from "../resize/allocation.ts";

/** Why this node rejects a pod: the reason and message of the pod's status and event. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Why this node cannot decide on a pod yet. Meanwhile the pod's status reports what the pod waits for. */
export interface Deferral {
  readonly reason: `${typeof WAITING_FOR}${string}`;
  readonly message: string;
  /** Nothing is published of the wait: the pod's status stays as it is, and there is no event. */
  readonly isSilent?: true;
}

/**
 * Prefix of every deferral's reason. It identifies a deferral, whose reason leaves the status once the pod is admitted.
 */
export const WAITING_FOR = "WaitingFor";

export interface AdmittedVerdict {
  readonly kind: "admitted";
  /** `resources` are those of the admitted pod's spec. A resize changes them and nothing else. */
  readonly allocation: PodAllocation;
}

/** The decision on a pod bound to this node. Admission and rejection are final. */
export type Verdict =
  | AdmittedVerdict
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  | { readonly kind: "deferred"; readonly deferral: Deferral };

/** Replaces the resources with those of this pod's spec. Allocations of individual containers stay. */
export const withResourcesOf = ({ allocation }: AdmittedVerdict, pod: Pod): AdmittedVerdict => ({
  kind: "admitted",
  allocation: { ...allocation, resources: allocationOf(pod) },
});

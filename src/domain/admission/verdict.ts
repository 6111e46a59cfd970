import type { Pod } from "../../api/gen/core-v1.ts";
import type { PodAllocation } from "../allocation/pod-allocation.ts";
import { allocationOf } from "../resize/allocation.ts";

/** Why this node does not take a pod: the reason and the message that its status and its event tell. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Why it cannot be said yet whether this node takes a pod: what is waited for, as the pod's status tells it meanwhile. */
export interface Deferral {
  readonly reason: `${typeof WAITING_FOR}${string}`;
  readonly message: string;
}

/** What the reason of every deferral begins with: so it is known for one, and is gone from the status once the pod is taken. */
export const WAITING_FOR = "WaitingFor";

export interface AdmittedVerdict {
  readonly kind: "admitted";
  /** Its `resources` are those of the admitted pod's spec. A resize changes them, and nothing else. */
  readonly allocation: PodAllocation;
}

/** What becomes of a pod that this node was given. Taken and not taken are final. */
export type Verdict =
  | AdmittedVerdict
  | { readonly kind: "rejected"; readonly rejection: Rejection }
  | { readonly kind: "deferred"; readonly deferral: Deferral };

/** With the resources of this pod's spec. What its containers have for themselves stays. */
export const withResourcesOf = ({ allocation }: AdmittedVerdict, pod: Pod): AdmittedVerdict => ({
  kind: "admitted",
  allocation: { ...allocation, resources: allocationOf(pod) },
});

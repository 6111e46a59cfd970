/** A pod assigned to this node, with its admission result: admitted, rejected or undecided. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { Verdict } from "../admission/verdict.ts";
import type { PodResize } from "../resize/pod-resize.ts";

export interface AdmittedPod {
  readonly uid: string;
  /** The pod with its allocated resources in place of the resources that its spec now requests. */
  readonly pod: Pod;
  readonly isStatic: boolean;
  /** The incarnation that was admitted: another one of the same UID runs only after this one has terminated. */
  readonly incarnation?: number | undefined;
  readonly firstSeenWallMs: number;
  /** The pod's status when this kubelet first observed it. Later writes by others to its status are ignored. */
  readonly initialStatus?: PodStatus | undefined;
  readonly verdict: Verdict;
  /** Set if the pod requests, or was granted, other resources than at its admission. */
  readonly resize?: PodResize;
}

/** The pod as its source defines it. */
export const desiredOf = ({ pod, resize }: AdmittedPod): Pod => resize?.desired ?? pod;

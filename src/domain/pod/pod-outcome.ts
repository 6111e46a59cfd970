/** What a pod's worker last made of it: the one word on the pod that others act upon and publish. */
import type { WaitingReason } from "../pod-status/container-status.ts";
import type { PodLifecycle } from "./pod-lifecycle.ts";
import type { PodRuntimeView } from "./runtime-view.ts";

export interface PodOutcome {
  readonly uid: string;
  readonly lifecycle: PodLifecycle;
  /** What its containers are, every end in it already in the journal. Once the pod has ended: what they were. */
  readonly view: PodRuntimeView;
  /** Why a container that should run does not, by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Last words of ended containers, by container id. */
  readonly messages: ReadonlyMap<string, string>;
}

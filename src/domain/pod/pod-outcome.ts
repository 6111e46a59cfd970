/** What a pod's worker last made of it: the one word on the pod that others act upon and publish. */
import type { WaitingReason } from "../pod-status/container-status.ts";
import type { Actuated } from "../resize/actuation.ts";
import type { ResizeInProgress } from "../resize/pod-resize.ts";
import type { CgroupValues } from "../resources/cgroup-values.ts";
import type { PodLifecycle } from "./pod-lifecycle.ts";
import { emptyView, type PodRuntimeView } from "./runtime-view.ts";

export interface PodOutcome {
  readonly uid: string;
  readonly lifecycle: PodLifecycle;
  /** What its containers are, every end in it already in the journal. Once the pod has ended: what they were. */
  readonly view: PodRuntimeView;
  /** Why a container that should run does not, by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** By container name, of those that were removed so that all are restarted and are not there again: the restart count they will have. */
  readonly resets: ReadonlyMap<string, number>;
  /** Ids of containers that run and whose hook upon their start was not seen to its end: to others they have not started. */
  readonly postStartDue: ReadonlySet<string>;
  /** Last words of ended containers, by container id. */
  readonly messages: ReadonlyMap<string, string>;
  /** Ids of containers that have ended by our hand and start again in a moment. */
  readonly resuming?: ReadonlySet<string>;
  /** What it was granted while it runs and does not have yet. */
  readonly resize?: ResizeInProgress | undefined;
  /** What of its allocation is carried out, and what its group is held to by that. */
  readonly actuated?: Actuated;
  readonly group?: CgroupValues | undefined;
}

/** Of a pod that no worker has taken up. */
export const untouched = (uid: string): PodOutcome => ({
  uid,
  lifecycle: { kind: "running" },
  view: emptyView(uid),
  waiting: new Map(),
  resets: new Map(),
  postStartDue: new Set(),
  messages: new Map(),
});

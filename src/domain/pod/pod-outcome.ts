/**
 * The latest result of a pod's worker. It is the only source from which other components act on the pod and publish it.
 */
import type { WaitingReason } from "../pod-status/container-status.ts";
import type { Actuated } from "../resize/actuation.ts";
import type { ResizeInProgress } from "../resize/pod-resize.ts";
import type { CgroupValues } from "../resources/cgroup-values.ts";
import type { PodLifecycle } from "./pod-lifecycle.ts";
import { emptyView, type PodRuntimeView } from "./runtime-view.ts";

export interface PodOutcome {
  readonly uid: string;
  readonly lifecycle: PodLifecycle;
  /**
   * The state of its containers, with every exit in it already journaled. After the pod has terminated: their last
   * state.
   */
  readonly view: PodRuntimeView;
  /** Why a container that should run is not running, by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /**
   * For containers removed for RestartAllContainers and not yet created again, by name: the restart count of the next
   * instance.
   */
  readonly resets: ReadonlyMap<string, number>;
  /**
   * IDs of running containers whose postStart hook was not observed to finish. To other components they have not
   * started.
   */
  readonly postStartDue: ReadonlySet<string>;
  /** Termination messages, by container ID. */
  readonly messages: ReadonlyMap<string, string>;
  /** IDs of containers that Deckhand stopped and restarts shortly. */
  readonly restarting?: ReadonlySet<string>;
  /** A resize that was granted while the pod runs and is not actuated yet. */
  readonly resize?: ResizeInProgress | undefined;
  /** The actuated part of the allocation, and the resulting values of the pod's cgroup. */
  readonly actuated?: Actuated;
  readonly group?: CgroupValues | undefined;
}

/** The outcome of a pod that no worker has handled yet. */
export const emptyOutcome = (uid: string): PodOutcome => ({
  uid,
  lifecycle: { kind: "running" },
  view: emptyView(uid),
  waiting: new Map(),
  resets: new Map(),
  postStartDue: new Set(),
  messages: new Map(),
});

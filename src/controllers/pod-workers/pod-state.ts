/**
 * What a pod's worker remembers between two syncs. This state ends with the process; what must not be lost is in the
 * journal.
 */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import type { PresentImage } from "../../domain/images/image-answer.ts";
import type { AllocationFact } from "../../domain/journal/journaled-pod.ts";
import type { TerminationStepName } from "../../domain/pod/ending.ts";
import type { KnownExit } from "../../domain/pod/known-exits.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { BackoffEntry } from "../../domain/pod/restart-backoff.ts";
import { type PodRuntimeView, podNameOf } from "../../domain/pod/runtime-view.ts";
import type { WaitingReason } from "../../domain/pod-status/container-status.ts";
import { type Actuated, NOTHING_ACTUATED } from "../../domain/resize/actuation.ts";
import type { ResizeInProgress } from "../../domain/resize/pod-resize.ts";

export interface PodState {
  readonly uid: string;
  /** The order in which this process first saw UIDs: static pods with the same name run in this order. */
  readonly arrival: number;
  pod: Pod | undefined;
  /** The incarnation of the pod that this state is about; undefined while its source does not distinguish them. */
  incarnation: number | undefined;
  /** The resources that the pod was admitted with; undefined before admission. */
  allocation: PodAllocation | undefined;
  /** The pod's status when this process first saw the pod. */
  initialStatus: PodStatus | undefined;
  lifecycle: PodLifecycle;
  /** The last inspected view whose exits are journaled; undefined before the first. */
  view: PodRuntimeView | undefined;
  readonly containers: ContainersState;
  readonly sandbox: SandboxState;
  readonly termination: TerminationState;
  readonly resize: ResizeState;
  readonly reports: ReportsState;
}

/** State of the pod's containers, by name or by ID. */
export interface ContainersState {
  /** Why a container waits, by name. */
  readonly waiting: Map<string, WaitingReason>;
  /** Termination messages, by ID. */
  readonly messages: Map<string, string>;
  /** Keys of objects without which containers could not start: a change of one triggers a retry. */
  readonly blockedOn: Set<string>;
  /** By container name, image and resources: a changed definition starts a new backoff. */
  readonly backoffs: Map<string, BackoffEntry>;
  /** When a container's exit was observed, by ID. */
  readonly exitSeenMonotonicMs: Map<string, number>;
  /** The last exit of each container, by name. */
  readonly knownExits: Map<string, KnownExit>;
  /**
   * The lowest attempt that a container may be created with, by name: the runtime may hold lower names without listing
   * a container.
   */
  readonly restartFloor: Map<string, number>;
  /** IDs of containers whose postStart hook has not been observed to finish. */
  readonly postStartDue: Set<string>;
}

/** State of the pod's sandbox, cgroup and volumes: what containers start in. */
export interface SandboxState {
  /** The lowest attempt that a sandbox may be created with. */
  attemptMin: number;
  /** Since when the name of this attempt has been taken by another sandbox. */
  nameTaken: { readonly attempt: number; readonly sinceMonotonicMs: number } | undefined;
  /** Set after a sandbox could not be created: until then none is created, and the runtime is inspected first. */
  notBeforeMonotonicMs: number | undefined;
  /** When the pod's cgroup was last known to exist. */
  cgroupSeenMonotonicMs: number;
  /** Since when the pod has waited for volumes, and the last event about it; undefined while the pod does not wait. */
  volumesWait: { readonly sinceMonotonicMs: number; readonly reported: string } | undefined;
  /** The images of the pod's image volumes that are on the node, by volume name. */
  readonly volumeImages: Map<string, PresentImage>;
}

export interface TerminationState {
  /** For each termination step that was attempted: the number of attempts and the last error. */
  readonly tries: Map<TerminationStepName, { readonly attempts: number; readonly error: string | undefined }>;
  /** When the grace period ends; undefined while the pod has none. */
  graceEndsMonotonicMs: number | undefined;
  /** Since when the pod has had no process although the runtime lists it as running; undefined otherwise. */
  emptySinceMonotonicMs: number | undefined;
  /** IDs of containers whose preStop hook has been observed to finish. */
  readonly preStopDone: Set<string>;
  /** The last event about the stop of a container, by ID. */
  readonly reportedStops: Map<string, string>;
}

export interface ResizeState {
  /**
   * The allocation that is actuated. `allocatedBefore` is a previous kubelet process's record, until it is compared
   * with what runs.
   */
  actuated: Actuated;
  isActuatedKnown: boolean;
  allocatedBefore: AllocationFact | undefined;
  /** The spec generation that `pod` was last granted resources for; undefined: none. */
  allocatedGeneration: number | undefined;
  /** The granted resize that is not actuated yet, and the generation of the last completed one. */
  inProgress: ResizeInProgress | undefined;
  resizedGeneration: number;
  /** IDs of containers, by name, that were stopped only to restart with other resources. */
  readonly restarts: Map<string, string>;
}

/** What the journal, events and traces contain of the pod's last sync, so that a repeated sync adds nothing. */
export interface ReportsState {
  /** The last plan in the journal. */
  decided: string;
  /** Whether the last sync failed. */
  isStuck: boolean;
  /** The last event about a failed sync. */
  failureEvent: { readonly message: string; readonly emittedMonotonicMs: number } | undefined;
  /** The pod at the last traced sync. */
  tracedPod: Pod | undefined;
}

export function newPodState(uid: string, arrival: number): PodState {
  return {
    uid,
    arrival,
    pod: undefined,
    incarnation: undefined,
    allocation: undefined,
    initialStatus: undefined,
    lifecycle: { kind: "running" },
    view: undefined,
    containers: {
      waiting: new Map(),
      messages: new Map(),
      blockedOn: new Set(),
      backoffs: new Map(),
      exitSeenMonotonicMs: new Map(),
      knownExits: new Map(),
      restartFloor: new Map(),
      postStartDue: new Set(),
    },
    sandbox: {
      attemptMin: 0,
      nameTaken: undefined,
      notBeforeMonotonicMs: undefined,
      cgroupSeenMonotonicMs: Number.NEGATIVE_INFINITY,
      volumesWait: undefined,
      volumeImages: new Map(),
    },
    termination: {
      tries: new Map(),
      graceEndsMonotonicMs: undefined,
      emptySinceMonotonicMs: undefined,
      preStopDone: new Set(),
      reportedStops: new Map(),
    },
    resize: {
      actuated: NOTHING_ACTUATED,
      isActuatedKnown: false,
      allocatedBefore: undefined,
      allocatedGeneration: undefined,
      inProgress: undefined,
      resizedGeneration: -1,
      restarts: new Map(),
    },
    reports: { decided: "", isStuck: false, failureEvent: undefined, tracedPod: undefined },
  };
}

/** "namespace/name", from the pod's object or from the runtime. */
export function nameInJournal(state: PodState, seen: PodRuntimeView | undefined): string {
  const view = state.view ?? seen;
  const ofRuntime = view === undefined ? undefined : podNameOf(view);
  const name = state.pod === undefined ? ofRuntime : podNameOfObject(state.pod);
  return name === undefined ? "" : `${name.namespace}/${name.name}`;
}

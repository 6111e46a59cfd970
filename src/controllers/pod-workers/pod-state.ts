/** What a pod's worker remembers between two turns. Gone with the process; what must not be lost is in the journal. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import type { PresentImage } from "../../domain/images/image-answer.ts";
import type { AllocationFact } from "../../domain/journal/facts.ts";
import type { EndStepName } from "../../domain/pod/ending.ts";
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
  /** When this UID came, among all of this process: static pods of one name go in this order. */
  readonly arrival: number;
  pod: Pod | undefined;
  /** What the pod was admitted with; undefined until it is. */
  allocation: PodAllocation | undefined;
  /** The pod's status when this agent saw the pod first. */
  found: PodStatus | undefined;
  lifecycle: PodLifecycle;
  /** The last look whose exits are in the journal; undefined before the first. */
  view: PodRuntimeView | undefined;
  readonly containers: ContainersState;
  readonly sandbox: SandboxState;
  readonly termination: TerminationState;
  readonly resize: ResizeState;
  readonly reports: ReportsState;
}

/** Of the pod's containers, by name or by id. */
export interface ContainersState {
  /** Why a container waits, by name. */
  readonly waiting: Map<string, WaitingReason>;
  /** Termination messages, by id. */
  readonly messages: Map<string, string>;
  /** Keys of what its containers could not start without: a change of one is worth another try. */
  readonly awaits: Set<string>;
  /** By container name, image and resources: another definition begins another count. */
  readonly backoffs: Map<string, BackoffEntry>;
  /** When the exit of a container was seen, by id. */
  readonly exitSeenMonotonicMs: Map<string, number>;
  /** The last exit of each container, by name. */
  readonly knownExits: Map<string, KnownExit>;
  /** The lowest attempt that a container may be created with, by name: names below may be taken though nothing with them is to be seen. */
  readonly restartFloor: Map<string, number>;
  /** Ids of containers whose postStart hook was not seen to its end. */
  readonly postStartDue: Set<string>;
}

/** Of the pod's sandbox, cgroup and volumes: what containers start in. */
export interface SandboxState {
  /** The lowest attempt that a sandbox may be created with. */
  attemptMin: number;
  /** Since when another sandbox has had the name of this attempt. */
  nameTaken: { readonly attempt: number; readonly sinceMonotonicMs: number } | undefined;
  /** After a sandbox could not be created: none is created before this, and the runtime is looked at again first. */
  notBeforeMonotonicMs: number | undefined;
  /** When the pod's cgroup was last known to exist. */
  cgroupSeenMonotonicMs: number;
  /** Since when the pod has waited for volumes, and the last event about it; undefined while it does not wait. */
  volumesWait: { readonly sinceMonotonicMs: number; readonly told: string } | undefined;
  /** What its image volumes hold, by volume name, once that is on the node. */
  readonly volumeImages: Map<string, PresentImage>;
}

export interface TerminationState {
  /** Of the steps of its termination that were tried: how often, and why the last try failed. */
  readonly tries: Map<EndStepName, { readonly attempts: number; readonly error: string | undefined }>;
  /** When its grace period ends; undefined as long as it has none. */
  graceEndsMonotonicMs: number | undefined;
  /** Since when no process of it is left though the runtime says that it runs; undefined: not so. */
  emptySinceMonotonicMs: number | undefined;
  /** Ids of containers whose preStop hook was seen to its end. */
  readonly preStopDone: Set<string>;
  /** The last event about the stop of a container, by id. */
  readonly toldStops: Map<string, string>;
}

export interface ResizeState {
  /** What of its allocation is carried out; and what an agent before us knew of it, until that is compared with what runs. */
  actuated: Actuated;
  isActuatedKnown: boolean;
  allocatedBefore: AllocationFact | undefined;
  /** The generation of the spec that `pod` was last granted something for; undefined: none. */
  granted: number | undefined;
  /** What was granted and is not carried out yet, and the generation of what last was. */
  inProgress: ResizeInProgress | undefined;
  resizedGeneration: number;
  /** Ids of containers, by name, that were stopped only to start again with other resources. */
  readonly restarts: Map<string, string>;
}

/** What journal, events and traces have of the pod's last turn, so that a repeated turn adds nothing. */
export interface ReportsState {
  /** The last plan in the journal. */
  decided: string;
  /** The last turn failed. */
  isStuck: boolean;
  /** The last event about a failed turn. */
  failureEvent: { readonly message: string; readonly emittedMonotonicMs: number } | undefined;
  /** The pod at the last turn in a trace. */
  tracedPod: Pod | undefined;
}

export function newPodState(uid: string, arrival: number): PodState {
  return {
    uid,
    arrival,
    pod: undefined,
    allocation: undefined,
    found: undefined,
    lifecycle: { kind: "running" },
    view: undefined,
    containers: {
      waiting: new Map(),
      messages: new Map(),
      awaits: new Set(),
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
      toldStops: new Map(),
    },
    resize: {
      actuated: NOTHING_ACTUATED,
      isActuatedKnown: false,
      allocatedBefore: undefined,
      granted: undefined,
      inProgress: undefined,
      resizedGeneration: -1,
      restarts: new Map(),
    },
    reports: { decided: "", isStuck: false, failureEvent: undefined, tracedPod: undefined },
  };
}

/** As people know it: by its object, or by what the runtime has of it. */
export function nameInJournal(state: PodState, seen: PodRuntimeView | undefined): string {
  const view = state.view ?? seen;
  const ofRuntime = view === undefined ? undefined : podNameOf(view);
  const name = state.pod === undefined ? ofRuntime : podNameOfObject(state.pod);
  return name === undefined ? "" : `${name.namespace}/${name.name}`;
}

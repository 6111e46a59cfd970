/** What a pod's worker remembers between two turns. Gone with the process; what must not be lost is in the journal. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
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
  pod: Pod | undefined;
  /** What stood of it when this agent saw it first. */
  found: PodStatus | undefined;
  lifecycle: PodLifecycle;
  /** The last look whose ends are in the journal; undefined before the first. */
  view: PodRuntimeView | undefined;
  readonly waiting: Map<string, WaitingReason>;
  readonly messages: Map<string, string>;
  /** Keys of what its containers could not start without: a change of one is worth another try. */
  readonly awaits: Set<string>;
  /** By container name, image and resources: what another definition would start afresh. */
  readonly backoffs: Map<string, BackoffEntry>;
  /** What its image volumes hold, by volume name, once that is on the node. */
  readonly volumeImages: Map<string, PresentImage>;
  readonly exitSeenMonotonicMs: Map<string, number>;
  readonly knownExits: Map<string, KnownExit>;
  /** Names that may be taken though nothing with them is to be seen. */
  readonly restartFloor: Map<string, number>;
  /** Ids of containers whose hook upon their start was not seen to its end, and whose hook before their end was. */
  readonly postStartDue: Set<string>;
  readonly preStopDone: Set<string>;
  /** What was last told of the stop of a container, by id. */
  readonly toldStops: Map<string, string>;
  /** What of its allocation is carried out; and what an agent before us knew of it, until that is compared with what runs. */
  actuated: Actuated;
  isActuatedKnown: boolean;
  allocatedBefore: AllocationFact | undefined;
  /** The generation of the spec that `pod` was last granted something for; undefined: none. */
  granted: number | undefined;
  /** What was granted and is not carried out yet, and the generation of what last was. */
  resize: ResizeInProgress | undefined;
  resizedGeneration: number;
  /** Ids of containers, by name, that were stopped only to start again with other resources. */
  readonly restartsForResize: Map<string, string>;
  sandboxFloor: number;
  /** Since when the name of this attempt has been somebody else's. */
  sandboxNameTaken: { readonly attempt: number; readonly sinceMonotonicMs: number } | undefined;
  /** After a sandbox could not be made: none is made before this, and the runtime is looked at again first. */
  sandboxNotBeforeMonotonicMs: number | undefined;
  /** When its cgroup was last known to be there. */
  cgroupSeenMonotonicMs: number;
  /** Since when it has waited for volumes, and what was last said of it; undefined while it does not. */
  volumesWait: { readonly sinceMonotonicMs: number; readonly told: string } | undefined;
  /** Of the steps of its end that were tried: how often, and why the last try failed. */
  readonly endTries: Map<EndStepName, { readonly attempts: number; readonly error: string | undefined }>;
  /** When the grace of its end is over; undefined as long as it has none. */
  graceEndsMonotonicMs: number | undefined;
  /** Since when no process of it is left though the runtime says that it runs; undefined: not so. */
  emptySinceMonotonicMs: number | undefined;
  /** What was last decided of it, as the journal has it: a plan that is only tried again is not noted again. */
  decided: string;
  /** Its last turn failed. */
  isStuck: boolean;
  /** The last event about a failed turn. */
  failureEvent: { readonly message: string; readonly emittedMonotonicMs: number } | undefined;
  /** As it was at its last turn that a trace tells of. */
  tracedPod: Pod | undefined;
  /** When this UID came, among all of this process: static pods of one name go in this order. */
  readonly arrival: number;
}

export function newPodState(uid: string, arrival: number): PodState {
  return {
    uid,
    pod: undefined,
    found: undefined,
    lifecycle: { kind: "running" },
    view: undefined,
    waiting: new Map(),
    messages: new Map(),
    awaits: new Set(),
    backoffs: new Map(),
    volumeImages: new Map(),
    exitSeenMonotonicMs: new Map(),
    knownExits: new Map(),
    restartFloor: new Map(),
    postStartDue: new Set(),
    preStopDone: new Set(),
    toldStops: new Map(),
    actuated: NOTHING_ACTUATED,
    isActuatedKnown: false,
    allocatedBefore: undefined,
    granted: undefined,
    resize: undefined,
    resizedGeneration: -1,
    restartsForResize: new Map(),
    sandboxFloor: 0,
    sandboxNameTaken: undefined,
    sandboxNotBeforeMonotonicMs: undefined,
    cgroupSeenMonotonicMs: Number.NEGATIVE_INFINITY,
    volumesWait: undefined,
    endTries: new Map(),
    graceEndsMonotonicMs: undefined,
    emptySinceMonotonicMs: undefined,
    decided: "",
    isStuck: false,
    failureEvent: undefined,
    tracedPod: undefined,
    arrival,
  };
}

/** As people know it: by its object, or by what the runtime has of it. */
export function nameInJournal(state: PodState, seen: PodRuntimeView | undefined): string {
  const view = state.view ?? seen;
  const ofRuntime = view === undefined ? undefined : podNameOf(view);
  const name = state.pod === undefined ? ofRuntime : podNameOfObject(state.pod);
  return name === undefined ? "" : `${name.namespace}/${name.name}`;
}

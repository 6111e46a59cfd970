/** What a pod's worker remembers between two turns. Gone with the process; what must not be lost is in the journal. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { PresentImage } from "../../domain/images/image-answer.ts";
import type { KnownExit } from "../../domain/pod/known-exits.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { BackoffEntry } from "../../domain/pod/restart-backoff.ts";
import { type PodRuntimeView, podNameOf } from "../../domain/pod/runtime-view.ts";
import type { WaitingReason } from "../../domain/pod-status/container-status.ts";

export interface PodState {
  readonly uid: string;
  pod: Pod | undefined;
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
  sandboxFloor: number;
  /** When its cgroup was last known to be there. */
  cgroupSeenMonotonicMs: number;
  /** Since when it has waited for volumes, and what was last said of it; undefined while it does not. */
  volumesWait: { readonly sinceMonotonicMs: number; readonly told: string } | undefined;
  /** When this UID came, among all of this process: static pods of one name go in this order. */
  readonly arrival: number;
}

export function newPodState(uid: string, arrival: number): PodState {
  return {
    uid,
    pod: undefined,
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
    sandboxFloor: 0,
    cgroupSeenMonotonicMs: Number.NEGATIVE_INFINITY,
    volumesWait: undefined,
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

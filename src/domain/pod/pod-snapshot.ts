/** The world as one sync of one pod sees it: read once, then decided upon. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { ProbeVerdicts } from "../probes/verdicts.ts";
import type { Actuated } from "../resize/actuation.ts";
import type { VolumeReadiness } from "../volumes/volume-state.ts";
import type { KnownExit } from "./known-exits.ts";
import type { Backoffs } from "./restart-backoff.ts";
import type { PodRuntimeView } from "./runtime-view.ts";

export interface PodSnapshot {
  readonly pod: Pod;
  /** What stood of it when this agent saw it first. */
  readonly found: PodStatus | undefined;
  readonly view: PodRuntimeView;
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** By container name. An entry of another image or other resources is not here. */
  readonly backoffs: Backoffs;
  /** When each ended container was first seen ended, by container id: time that passes whatever the clock does. */
  readonly exitSeenMonotonicMs: ReadonlyMap<string, number>;
  /** Ends that are known though the runtime has forgotten the container, by container name. */
  readonly knownExits: ReadonlyMap<string, KnownExit>;
  /** The least restart count each container may have next, by name: above its log files, and above names that may still be taken. */
  readonly restartFloor: ReadonlyMap<string, number>;
  /** The least attempt the next sandbox may have. */
  readonly sandboxFloor: number;
  /** Whether its volumes are where its containers need them, will be in a moment, or may never be. */
  readonly volumes: VolumeReadiness["kind"];
  /** Ids of containers whose hook upon their start was not seen to its end. */
  readonly postStartDue: ReadonlySet<string>;
  /** What the probes say, by container id. */
  readonly verdicts: ReadonlyMap<string, ProbeVerdicts>;
  /** What of its allocation was carried out. */
  readonly actuated: Actuated;
  /** Ids of containers, by name, that were stopped only to start again with other resources. */
  readonly restartsForResize: ReadonlyMap<string, string>;
  /** Its containers run, and their group is gone. */
  readonly cgroupMissing: boolean;
}

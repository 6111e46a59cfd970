/** The world as one sync of one pod sees it: read once, then decided upon. Probe verdicts and the progress of init containers will stand here too. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { KnownExit } from "./known-exits.ts";
import type { Backoffs } from "./restart-backoff.ts";
import type { PodRuntimeView } from "./runtime-view.ts";

export interface PodSnapshot {
  readonly pod: Pod;
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
  /** Whether its volumes are where its containers need them. */
  readonly volumesReady: boolean;
  /** Its containers run, and their group is gone. */
  readonly cgroupMissing: boolean;
}

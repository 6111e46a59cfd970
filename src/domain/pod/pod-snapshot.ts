/** The state that one sync of one pod decides on, read once. */
import type { Pod, PodStatus } from "../../api/gen/core-v1.ts";
import type { ProbeVerdicts } from "../probes/verdicts.ts";
import type { Actuated } from "../resize/actuation.ts";
import type { VolumeReadiness } from "../volumes/volume-state.ts";
import type { KnownExit } from "./known-exits.ts";
import type { Backoffs } from "./restart-backoff.ts";
import type { PodRuntimeView } from "./runtime-view.ts";

export interface PodSnapshot {
  readonly pod: Pod;
  /** The pod's status when this kubelet process first observed the pod. */
  readonly initialStatus: PodStatus | undefined;
  readonly view: PodRuntimeView;
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** By container name. Entries of another image or of other resources are left out. */
  readonly backoffs: Backoffs;
  /**
   * When each exited container was first observed as exited, by container ID. This time is independent of clock
   * changes.
   */
  readonly exitSeenMonotonicMs: ReadonlyMap<string, number>;
  /** Known exits of containers that the runtime no longer has, by container name. */
  readonly knownExits: ReadonlyMap<string, KnownExit>;
  /**
   * The minimum next restart count of each container, by name: above its log files, and above names that may still be
   * in use.
   */
  readonly restartFloor: ReadonlyMap<string, number>;
  /** The minimum attempt number of the next sandbox. */
  readonly sandboxFloor: number;
  /** Whether the pod's volumes are ready, will be ready shortly, or may never be ready. */
  readonly volumes: VolumeReadiness["kind"];
  /** IDs of containers whose postStart hook was not observed to finish. */
  readonly postStartDue: ReadonlySet<string>;
  /** Probe results, by container ID. */
  readonly verdicts: ReadonlyMap<string, ProbeVerdicts>;
  /** The actuated part of the pod's allocation. */
  readonly actuated: Actuated;
  /** IDs, by container name, of containers that were stopped only to restart with other resources. */
  readonly restartsForResize: ReadonlyMap<string, string>;
  /** The pod's containers run, but its cgroup is gone. */
  readonly cgroupMissing: boolean;
}

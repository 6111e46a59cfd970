/**
 * A volume plugin: which volumes it serves, how it sets them up on the node, how that fails, and how it recognizes
 * volumes that a previous kubelet process set up. A plugin is one file in `plugins/` and one line of `VOLUME_PLUGINS`.
 * Admission, mounting, unmounting, statistics and metrics use that list.
 */
import type { PersistentVolume, PersistentVolumeSpec, Pod, Volume } from "../../api/gen/core-v1.ts";
import type { VolumeKind } from "../../domain/volumes/layout.ts";
import type { MountedVolume } from "../../domain/volumes/volume-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { Random } from "../../ports/random.ts";
import type { StagedVolumes } from "./staged-volumes.ts";
import type { VolumeQuotas } from "./volume-quotas.ts";

export interface VolumePlugin extends VolumeKind {
  /** The fields of a PersistentVolume that select this plugin. */
  readonly persistentSources: readonly (keyof PersistentVolumeSpec)[];
  /**
   * The origin of the content. `own`: the pod writes into an empty directory. `written`: the kubelet writes the files
   * and keeps them up to date. `elsewhere`: the content exists without the pod.
   */
  readonly content: "own" | "written" | "elsewhere";
  /** Decides without touching the node. */
  plan(request: VolumeRequest, context: PlanContext): VolumePlan;
  /** Unmounts what is mounted once for all pods, after the pod's own mount is gone. */
  unstage?(work: UnstageWork): Promise<void>;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly volume: Volume;
  /** The PersistentVolume that the claim is bound to, if there is a claim. */
  readonly persistent: PersistentVolume | undefined;
  /** Whether the claim is mounted read-only. */
  readonly readOnly: boolean;
}

export interface PlanContext {
  readonly allocatableMemoryBytes: bigint;
}

export type VolumePlan =
  | { readonly kind: "refused"; readonly operation: string; readonly message: string }
  /**
   * `setUp` may run again at any time. It rejects with a `VolumeFailure`, a `MountError`, a `HostFileError` or the
   * signal's reason.
   */
  | { readonly kind: "planned"; readonly setUp: (work: SetUpWork) => Promise<SetUpVolume> };

export type SetUpVolume = Omit<MountedVolume, "name">;

/** The ports that the set-up of a volume needs. */
export interface SetUpPorts {
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly journal: Journal;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly random: Random;
}

/** One volume of one pod, and its paths. */
export interface SetUpWork {
  readonly pod: Pod;
  readonly volume: Volume;
  /** The volume's name on disk. */
  readonly name: string;
  readonly rootDir: string;
  readonly podDirectory: string;
  /** The volume's directory. */
  readonly path: string;
  /** The directory of the file `ready`, which marks the volume as complete. */
  readonly readyFileDirectory: string;
  readonly ports: SetUpPorts;
  readonly staged: StagedVolumes;
  /** Undefined: volumes get no project quotas. */
  readonly quotas: VolumeQuotas | undefined;
  readonly signal: AbortSignal;
}

export interface UnstageWork {
  readonly name: string;
  /** UID of the pod that stops using the volume. */
  readonly uid: string;
  readonly rootDir: string;
  readonly ports: Pick<SetUpPorts, "files" | "mounts">;
  readonly staged: StagedVolumes;
  readonly signal: AbortSignal;
}

/** A volume cannot be set up. The texts are those that Kubernetes users know: the failed operation and the cause. */
export class VolumeFailure extends Error {
  override readonly name = "VolumeFailure";
  readonly operation: string;
  constructor(operation: string, cause: string) {
    super(cause);
    this.operation = operation;
  }
}

export const refused = (message: string, operation = "MountVolume.SetUp failed"): VolumePlan => ({
  kind: "refused",
  operation,
  message,
});

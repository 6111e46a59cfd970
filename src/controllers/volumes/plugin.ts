/**
 * One kind of volume: which volumes it serves, how it sets one up on the node, and how it recognizes one that an earlier agent set up. A kind is one
 * file in `plugins/` and one line of `VOLUME_PLUGINS`; admission, mounting, unmounting, statistics and metrics go by that list.
 */
import type { PersistentVolume, PersistentVolumeSpec, Pod, Volume } from "../../api/gen/core-v1.ts";
import type { VolumeKind } from "../../domain/volumes/layout.ts";
import type { MountedVolume } from "../../domain/volumes/volume-state.ts";
import type { SetUpPorts } from "./set-up-ports.ts";
import type { StagedVolumes } from "./staged-volumes.ts";

export interface VolumePlugin extends VolumeKind {
  /** The fields of a PersistentVolume that name this kind. */
  readonly persistentSources: readonly (keyof PersistentVolumeSpec)[];
  /**
   * What is in it: `own`, what the pod writes into an empty directory; `written`, files that the agent writes and keeps up to date; `elsewhere`, what
   * exists without the pod.
   */
  readonly content: "own" | "written" | "elsewhere";
  /** Decides without touching the node. */
  plan(request: VolumeRequest, context: PlanContext): VolumePlan;
  /** Releases what is mounted once for all pods, after the pod's own mount is gone. */
  unstage?(work: UnstageWork): Promise<void>;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly volume: Volume;
  /** The volume that its claim is bound to, if it has a claim. */
  readonly persistent: PersistentVolume | undefined;
  /** The claim's. */
  readonly readOnly: boolean;
}

export interface PlanContext {
  readonly allocatableMemoryBytes: bigint;
}

export type VolumePlan =
  | { readonly kind: "refused"; readonly operation: string; readonly message: string }
  /** `setUp` may run again at any time; it rejects with a `VolumeFailure`, a `MountError`, a `HostFileError` or the signal's reason. */
  | { readonly kind: "planned"; readonly setUp: (work: SetUpWork) => Promise<SetUpVolume> };

export type SetUpVolume = Omit<MountedVolume, "name">;

/** One volume of one pod, and where it belongs. */
export interface SetUpWork {
  readonly pod: Pod;
  readonly volume: Volume;
  /** Its name on disk. */
  readonly name: string;
  readonly rootDir: string;
  readonly podFolder: string;
  /** The volume's directory. */
  readonly path: string;
  /** The directory of the file `ready`, by which an agent knows that the volume is complete. */
  readonly marker: string;
  readonly ports: SetUpPorts;
  readonly staged: StagedVolumes;
  readonly signal: AbortSignal;
}

export interface UnstageWork {
  readonly name: string;
  /** Of the pod that leaves. */
  readonly uid: string;
  readonly rootDir: string;
  readonly ports: Pick<SetUpPorts, "files" | "mounts">;
  readonly staged: StagedVolumes;
  readonly signal: AbortSignal;
}

export const refused = (message: string, operation = "MountVolume.SetUp failed"): VolumePlan => ({
  kind: "refused",
  operation,
  message,
});

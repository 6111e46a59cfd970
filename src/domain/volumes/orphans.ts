/**
 * Directories of pods that no component will use again. The agent may still run a pod that was admitted and has not
 * finished according to the journal. The directory of such a pod is not an orphan, even if all other components have
 * forgotten the pod.
 */
import type { JournaledPod } from "../journal/journaled-pod.ts";
import { type PodMounts, planTearDown, type TearDownPlan } from "./tear-down-plan.ts";

export interface PodOnDisk {
  readonly uid: string;
  readonly mounts: PodMounts;
  readonly journaledPod: JournaledPod | undefined;
  /** Whether the runtime has a sandbox of the pod. */
  readonly inRuntime: boolean;
}

export interface Orphan {
  readonly uid: string;
  /** "namespace/name" if the journal has it. */
  readonly pod: string;
  readonly why: string;
  readonly plan: TearDownPlan;
  /** What prevents the removal, one sentence each. */
  readonly obstacles: readonly string[];
}

export function orphanOf({ uid, mounts, journaledPod, inRuntime }: PodOnDisk): Orphan | undefined {
  if (inRuntime) return undefined;
  const hasTerminated = journaledPod?.finishedWallMs !== undefined;
  if (journaledPod?.admission?.kind === "admitted" && !hasTerminated) return undefined;
  const why = hasTerminated
    ? "the pod has terminated according to the journal, and its directory still exists"
    : "neither the journal nor the runtime knows a pod with this UID";
  const plan = planTearDown(mounts);
  const obstacles = [
    ...plan.foreign.map((path) => `${path} is a mount point that this agent did not create: unmount it first`),
    ...mounts.unknownPlugins.map(
      (directory) => `the directory ${directory} belongs to a volume plugin that this agent does not have`,
    ),
  ];
  return { uid, pod: journaledPod?.pod ?? "", why, plan, obstacles };
}

/** Why a directory is not an orphan, in one sentence. */
export function keptBecause({ journaledPod, inRuntime }: PodOnDisk): string {
  if (inRuntime) return "the runtime has a sandbox of this pod";
  return `the pod ${journaledPod?.pod ?? ""} was admitted and has not terminated`;
}

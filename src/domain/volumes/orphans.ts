/**
 * Folders of pods that nobody will come back for. A pod whose life the journal does not call over may still be run by the agent: its folder is none,
 * whoever else has forgotten it.
 */
import type { UidFacts } from "../journal/facts.ts";
import { type PodRemains, planTakeAway, type TakeAwayPlan } from "./take-away-plan.ts";

export interface PodOnDisk {
  readonly uid: string;
  readonly remains: PodRemains;
  readonly facts: UidFacts | undefined;
  /** The runtime has a sandbox of it. */
  readonly inRuntime: boolean;
}

export interface Orphan {
  readonly uid: string;
  /** "namespace/name" where the journal knows it. */
  readonly pod: string;
  readonly why: string;
  readonly plan: TakeAwayPlan;
  /** What keeps it from being removed, each in a sentence. */
  readonly obstacles: readonly string[];
}

export function orphanOf({ uid, remains, facts, inRuntime }: PodOnDisk): Orphan | undefined {
  if (inRuntime) return undefined;
  const isOver = facts?.finishedWallMs !== undefined;
  if (facts?.admission?.kind === "admitted" && !isOver) return undefined;
  const why = isOver
    ? "the journal says that the pod is over, and its folder is still there"
    : "neither the journal nor the runtime knows a pod of this UID";
  const plan = planTakeAway(remains);
  const obstacles = [
    ...plan.foreign.map(
      (path) => `${path} is a mount point that this agent did not make: unmount it first, nothing below it is touched`,
    ),
    ...remains.strangers.map(
      (folder) => `the folder ${folder} belongs to a kind of volume that this agent does not know`,
    ),
  ];
  return { uid, pod: facts?.pod ?? "", why, plan, obstacles };
}

/** What stands in the way of a folder that is no orphan, in one sentence. */
export function keptBecause({ facts, inRuntime }: PodOnDisk): string {
  if (inRuntime) return "the runtime has a sandbox of this pod";
  return `the pod ${facts?.pod ?? ""} was admitted and is not over`;
}

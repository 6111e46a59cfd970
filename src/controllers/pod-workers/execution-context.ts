/** What the actions of one execution share. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import type { PodWork } from "./container-creation.ts";

export interface ExecutionContext extends PodWork {
  readonly pod: Pod | undefined;
  /** The grace period of all containers, starting now; undefined: the pod's own. */
  readonly graceMs: number | undefined;
  /** Called when the first preStop hook begins and when the last one ends. */
  readonly onHooks?: (areUnderWay: boolean) => void;
}

/** The pod of an action that starts something. */
export function podOf({ pod, state }: ExecutionContext): Pod {
  if (pod === undefined) throw new Error(`nothing starts for ${state.uid}: no source knows it`);
  return pod;
}

/** The resources that the node allocated to the pod at admission. */
export function allocationIn({ state }: ExecutionContext): PodAllocation {
  if (state.allocation === undefined) throw new Error(`nothing starts for ${state.uid}: this node did not admit it`);
  return state.allocation;
}

/** The node as admission sees it: read once, for all pods that are judged in one turn. */
import type { Node } from "../../api/gen/core-v1.ts";
import type { Pressure } from "../node/conditions.ts";
import type { SysctlRules } from "./sysctls.ts";

export interface NodeForPods {
  /** As the API server has it, or as we would write it; undefined while nobody knows what it can give. */
  readonly node: Node | undefined;
  readonly pressure: Pressure;
  readonly sysctls: SysctlRules;
  /** Every RuntimeClass of the cluster has been heard of. */
  readonly knowsRuntimeClasses: boolean;
  /** The kernel enforces AppArmor's profiles. */
  readonly apparmor: boolean;
  /** The runtime can keep a container's groups to those that its pod lists. */
  readonly strictGroups: boolean;
  readonly gates: AdmissionGates;
  /** Undefined: the node declares nothing, and nothing is asked of it. */
  readonly declaredFeatures: readonly string[] | undefined;
  readonly isShuttingDown: boolean;
  /** The fields of a pod's volume that this agent has a plugin for. */
  readonly volumeSources: ReadonlySet<string>;
}

export interface AdmissionGates {
  readonly podLevelResources: boolean;
  readonly comparingTolerations: boolean;
}

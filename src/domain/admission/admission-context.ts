/** The node as admission sees it, read once for all pods that are evaluated in one pass. */
import type { Node } from "../../api/gen/core-v1.ts";
import type { Pressure } from "../node/conditions.ts";
import type { SysctlRules } from "./sysctls.ts";

export interface AdmissionContext {
  /** As the API server has it, or as we would register it; undefined while its allocatable resources are unknown. */
  readonly node: Node | undefined;
  /** The same Node, also while its allocatable resources are unknown. */
  readonly nodeAsIs: Node;
  /** The pod is decided even if facts are missing. */
  readonly mustDecide: boolean;
  readonly pressure: Pressure;
  readonly sysctls: SysctlRules;
  /** The RuntimeClasses of the cluster have been listed. */
  readonly knowsRuntimeClasses: boolean;
  /** The kernel enforces AppArmor profiles. */
  readonly apparmor: boolean;
  /** The runtime can limit a container's groups to those that its pod lists (supplementalGroupsPolicy Strict). */
  readonly strictGroups: boolean;
  readonly gates: AdmissionGates;
  /** Undefined: the node declares no features, and pods are not checked for them. */
  readonly declaredFeatures: readonly string[] | undefined;
  readonly isShuttingDown: boolean;
  /** The volume source fields that this agent has a plugin for. */
  readonly volumeSources: ReadonlySet<string>;
}

export interface AdmissionGates {
  readonly podLevelResources: boolean;
  readonly comparingTolerations: boolean;
}

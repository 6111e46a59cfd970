import type { Node } from "../../src/api/gen/core-v1.ts";
import type { AdmissionContext } from "../../src/domain/admission/admission-context.ts";
import { sysctlRules } from "../../src/domain/admission/sysctls.ts";

/**
 * An admission context without reasons to reject pods: no pressure, no shutdown, AppArmor and RuntimeClasses available,
 * no check of declared features.
 */
export const admissionContext = (node: Node, more: Partial<AdmissionContext> = {}): AdmissionContext => ({
  node,
  nodeAsIs: node,
  mustDecide: false,
  pressure: { memory: false, disk: false, pid: false },
  sysctls: sysctlRules("6.1", []),
  knowsRuntimeClasses: true,
  apparmor: true,
  strictGroups: true,
  gates: { podLevelResources: true, comparingTolerations: false },
  declaredFeatures: undefined,
  isShuttingDown: false,
  volumeSources: new Set(["emptyDir"]),
  ...more,
});

/**
 * The reason of a pod's rejection as a label. Others may choose reasons, so only known reasons are labels themselves.
 */
const KNOWN: ReadonlySet<string> = new Set([
  "AppArmor",
  "Evicted",
  "InitContainerRestartPolicyForbidden",
  "InvalidNodeInfo",
  "NodeShutdown",
  "OutOfcpu",
  "OutOfephemeral-storage",
  "OutOfmemory",
  "OutOfpods",
  "PodFeatureUnsupported",
  "PodLevelResourcesNotSupported",
  "PodOSNotSupported",
  "PodOSSelectorNodeLabelDoesNotMatch",
  "SupplementalGroupsPolicyNotSupported",
  "SysctlForbidden",
  "TopologyAffinityError",
  "UnexpectedAdmissionError",
  "UnexpectedPredicateFailureType",
  "UnknownReason",
  "VolumeAttachmentLimitExceeded",
  "node(s) had taints that the pod didn't tolerate",
]);

export function rejectionLabel(reason: string): string {
  if (KNOWN.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}

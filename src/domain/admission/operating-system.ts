/**
 * Rejects a pod for another operating system, by its label or by `spec.os`. Like the Go kubelet, this reads the pod's
 * own label, not its node selector.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { Rejection } from "./verdict.ts";

const OURS = "linux";
const LABEL = "kubernetes.io/os";

export function wrongOperatingSystem({ metadata, spec }: Pod): Rejection | undefined {
  if ((metadata?.labels?.[LABEL] ?? OURS) !== OURS) {
    return {
      reason: "PodOSSelectorNodeLabelDoesNotMatch",
      message: `Failed to admit pod as the \`${LABEL}\` label doesn't match node label`,
    };
  }
  if ((spec?.os?.name ?? OURS) !== OURS) {
    return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  return undefined;
}

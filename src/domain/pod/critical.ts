/** Pods that a node must not lose. */
import type { Pod } from "../../api/gen/core-v1.ts";

const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** Static pods, their mirrors, and what the system's own priority classes mark. */
export function isCriticalPod(pod: Pod): boolean {
  const annotations = pod.metadata?.annotations ?? {};
  const source = annotations["kubernetes.io/config.source"];
  const isStatic = source !== undefined && source !== "api";
  const isMirror = annotations["kubernetes.io/config.mirror"] !== undefined;
  return isStatic || isMirror || (pod.spec?.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}

export const isNodeCriticalPod = (pod: Pod): boolean =>
  isCriticalPod(pod) && pod.spec?.priorityClassName === "system-node-critical";

/** A pod's names and kind, from its source, annotations and priority. They never depend on the caller. */
import type { Pod } from "../../api/gen/core-v1.ts";

export type PodSource = "file" | "http" | "api";

export const CONFIG_SOURCE = "kubernetes.io/config.source";
export const CONFIG_SEEN = "kubernetes.io/config.seen";
export const CONFIG_HASH = "kubernetes.io/config.hash";
export const CONFIG_MIRROR = "kubernetes.io/config.mirror";

/** Pods of at least this priority may preempt others. */
const CRITICAL_PRIORITY = 2_000_000_000;

/** "name_namespace": the same for a static pod and its mirror pod. */
export const fullNameOf = ({ metadata }: Pod) => `${metadata?.name ?? ""}_${metadata?.namespace ?? ""}`;

/** "namespace/name": the form that people use. */
export const keyOf = ({ metadata }: Pod) => `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;

function sourceOf(pod: Pod): PodSource | undefined {
  const source = pod.metadata?.annotations?.[CONFIG_SOURCE];
  return source === "file" || source === "http" || source === "api" ? source : undefined;
}

export function isStaticPod(pod: Pod): boolean {
  const source = sourceOf(pod);
  return source !== undefined && source !== "api";
}

export const isMirrorPod = (pod: Pod) => pod.metadata?.annotations?.[CONFIG_MIRROR] !== undefined;

export const isCriticalPod = (pod: Pod) =>
  isStaticPod(pod) || isMirrorPod(pod) || (pod.spec?.priority ?? 0) >= CRITICAL_PRIORITY;

export const isNodeCriticalPod = (pod: Pod) =>
  isCriticalPod(pod) && pod.spec?.priorityClassName === "system-node-critical";

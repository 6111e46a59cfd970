/**
 * Whether a pod may run on this node: by its operating system, its node selector and affinity, its nodeName, the taints
 * that it must tolerate, and the node's pressure.
 */
import type { Node, Pod, Taint, Toleration } from "../../api/gen/core-v1.ts";
import type { Pressure } from "../node/conditions.ts";
import { matchesTerm } from "../node/node-selector.ts";
import { isCriticalPod, isStaticPod } from "../pod/pod-identity.ts";
import { podQosClass } from "../resources/qos-class.ts";
import type { Rejection } from "./verdict.ts";

const OURS = "linux";
const LABEL = "kubernetes.io/os";

/**
 * Rejects a pod for another operating system, by its label or by `spec.os`. Like the Go kubelet, this reads the pod's
 * own label, not its node selector.
 */
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

export function selectsNode({ spec }: Pod, { metadata }: Node): boolean {
  const labels = metadata?.labels ?? {};
  const isLabelled = Object.entries(spec?.nodeSelector ?? {}).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  );
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const node = { name: metadata?.name ?? "", labels };
  return isLabelled && (required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node)));
}

export const namesNode = ({ spec }: Pod, { metadata }: Node): boolean =>
  (spec?.nodeName ?? "") === "" || spec?.nodeName === metadata?.name;

/**
 * Only NoExecute taints count, because they would evict a running pod. Static pods, the operator's own manifests, stay.
 */
export function toleratesNode(pod: Pod, { spec }: Node, withComparisons: boolean): boolean {
  if (isStaticPod(pod)) return true;
  const tolerations = pod.spec?.tolerations ?? [];
  const taints = (spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  return taints.every((taint) => tolerations.some((one) => tolerates(one, taint, withComparisons)));
}

function tolerates(
  { effect = "", key = "", operator = "", value = "" }: Toleration,
  taint: Taint,
  withComparisons: boolean,
): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  const held = taint.value ?? "";
  switch (operator) {
    case "":
    case "Equal":
      return value === held;
    case "Exists":
      return true;
    case "Lt":
      return withComparisons && compares(held, value, (a, b) => a < b);
    case "Gt":
      return withComparisons && compares(held, value, (a, b) => a > b);
    default:
      return false;
  }
}

const compares = (a: string, b: string, holds: (a: bigint, b: bigint) => boolean): boolean =>
  [a, b].every((text) => /^(0|-?[1-9]\d*)$/.test(text)) && holds(BigInt(a), BigInt(b));

const CONDITIONS = [
  ["MemoryPressure", "memory"],
  ["DiskPressure", "disk"],
  ["PIDPressure", "pid"],
] as const satisfies readonly (readonly [string, keyof Pressure])[];

const MEMORY_TAINT = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" } as const;

/**
 * Under pressure a node admits only critical pods. Under memory pressure alone it also admits pods that are not
 * BestEffort or that tolerate the memory-pressure taint.
 */
export function underPressure(pod: Pod, pressure: Pressure, withComparisons: boolean): Rejection | undefined {
  const conditions = CONDITIONS.filter(([, kind]) => pressure[kind]).map(([name]) => name);
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  const ofMemoryOnly = pressure.memory && conditions.length === 1;
  if (ofMemoryOnly && podQosClass(pod) !== "BestEffort") return undefined;
  const tolerations = pod.spec?.tolerations ?? [];
  if (ofMemoryOnly && tolerations.some((one) => tolerates(one, MEMORY_TAINT, withComparisons))) return undefined;
  return { reason: "Evicted", message: `The node had condition: [${conditions.join(" ")}]. ` };
}

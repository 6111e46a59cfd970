/**
 * Whether a pod may run on this node: by its node selector and affinity, its nodeName, and the taints that it must
 * tolerate.
 */
import type { Node, Pod, Taint, Toleration } from "../../api/gen/core-v1.ts";
import { matchesTerm } from "../node/node-selector.ts";
import { isStaticPod } from "../pod/pod-identity.ts";

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

export function tolerates(
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

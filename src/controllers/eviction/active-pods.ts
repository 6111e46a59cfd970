/**
 * The pods that an eviction may end: admitted, and not terminated. A pod that its worker has not handled yet is none of
 * them: after a restart under pressure it has no stats, and would be evicted before the pod that uses too much.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { isTerminal } from "../../domain/pod-status/phase.ts";

export interface ActivePodsParts {
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
}

/** Whether the worker of an admitted pod has not handled it yet. */
export const awaitsPods = ({ admittedPods, podOutcomes }: ActivePodsParts): boolean =>
  admittedPods
    .keys()
    .some((uid) => admittedPods.get(uid)?.verdict.kind === "admitted" && podOutcomes.get(uid) === undefined);

export const activePods = ({ admittedPods, podOutcomes }: ActivePodsParts): readonly Pod[] =>
  admittedPods.keys().flatMap((uid) => {
    const admitted = admittedPods.get(uid);
    const lifecycle = podOutcomes.get(uid)?.lifecycle;
    if (admitted?.verdict.kind !== "admitted" || lifecycle === undefined || hasEnded(lifecycle)) return [];
    return isTerminal(admitted.pod.status?.phase) && !admitted.isStatic ? [] : [admitted.pod];
  });

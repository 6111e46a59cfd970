/** The pods that an eviction may end: admitted, and not terminated. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";

export interface ActivePodsParts {
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
}

export const activePods = ({ admittedPods, podOutcomes }: ActivePodsParts): readonly Pod[] =>
  admittedPods.keys().flatMap((uid) => {
    const admitted = admittedPods.get(uid);
    const lifecycle = podOutcomes.get(uid)?.lifecycle;
    const isActive = admitted?.verdict.kind === "admitted" && (lifecycle === undefined || !hasEnded(lifecycle));
    return isActive ? [admitted.pod] : [];
  });

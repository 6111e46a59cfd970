/** Which pods hold a part of the node: those that were admitted and have not ended. Admission and resizes judge a pod beside them. */

import type { Pod } from "../../api/gen/core-v1.ts";
import type { ReadTable } from "../../concurrency/latest-table.ts";
import type { Beside } from "../../domain/admission/admission.ts";
import type { UidFacts } from "../../domain/journal/facts.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { Preemptions } from "./preemptions.ts";

export interface HoldingPodsParts {
  readonly admittedPods: ReadTable<string, AdmittedPod>;
  readonly podOutcomes: ReadTable<string, PodOutcome>;
  readonly facts: ReadonlyMap<string, UidFacts>;
}

export class HoldingPods {
  readonly #parts: HoldingPodsParts;
  readonly #preemptions: Pick<Preemptions, "has" | "isLate">;

  constructor(parts: HoldingPodsParts, preemptions: Pick<Preemptions, "has" | "isLate">) {
    this.#parts = parts;
    this.#preemptions = preemptions;
  }

  /** With their allocation, except this one. */
  all(except?: string): readonly Pod[] {
    const { admittedPods } = this.#parts;
    return admittedPods.keys().flatMap((uid) => {
      const known = admittedPods.get(uid);
      return uid !== except && known?.verdict.kind === "admitted" && this.holds(uid) ? [known.pod] : [];
    });
  }

  holds(uid: string): boolean {
    const { podOutcomes, facts } = this.#parts;
    const lifecycle = podOutcomes.get(uid)?.lifecycle;
    // Until its worker has published an outcome, what an earlier agent noted.
    return lifecycle === undefined ? facts.get(uid)?.finishedWallMs === undefined : !hasEnded(lifecycle);
  }

  /** Whom a pod is judged beside; nobody waits any more for those who were to leave and did not. */
  beside(pods: readonly Pod[]): Beside {
    const uidOf = ({ metadata }: Pod) => metadata?.uid ?? "";
    const isLeaving = (pod: Pod) => this.#preemptions.has(uidOf(pod));
    return {
      staying: pods.filter((pod) => !isLeaving(pod)),
      leaving: pods.filter((pod) => isLeaving(pod) && !this.#preemptions.isLate(uidOf(pod))),
    };
  }
}

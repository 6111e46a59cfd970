/**
 * Determines which pods hold resources of the node: admitted pods that have not terminated. Admission and resizes are
 * evaluated against these pods.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { PodsOnNode } from "../../domain/admission/admission.ts";
import type { JournaledPod } from "../../domain/journal/journaled-pod.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { mayRunOnNode, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Preemptions } from "./preemptions.ts";

export interface HoldingPodsParts {
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly sourcesReady: Latest<boolean>;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
}

export class HoldingPods {
  readonly #parts: HoldingPodsParts;
  readonly #preemptions: Pick<Preemptions, "has" | "isLate">;

  constructor(parts: HoldingPodsParts, preemptions: Pick<Preemptions, "has" | "isLate">) {
    this.#parts = parts;
    this.#preemptions = preemptions;
  }

  /** With their allocations; without the pod `except`. */
  all(except?: string): readonly Pod[] {
    const { admittedPods } = this.#parts;
    return admittedPods.keys().flatMap((uid) => {
      const known = admittedPods.get(uid);
      return uid !== except && known?.verdict.kind === "admitted" && this.holdsResources(uid) ? [known.pod] : [];
    });
  }

  holdsResources(uid: string): boolean {
    const { podOutcomes, journaledPods } = this.#parts;
    const lifecycle = podOutcomes.get(uid)?.lifecycle;
    // Until its worker has published an outcome, use the journal of the previous kubelet process.
    return lifecycle === undefined ? journaledPods.get(uid)?.finishedWallMs === undefined : !hasEnded(lifecycle);
  }

  /** A pod that is listed but not inspected yet may be running. */
  mayRun(uid: string): boolean {
    const { podRuntimeStatus, listedSandboxes } = this.#parts;
    return mayRunOnNode(uid, podRuntimeStatus.get(uid), listedSandboxes.value ?? []);
  }

  /**
   * Nothing of the pod runs or will run. Either its worker reports that, or the pod has no worker, no source names it,
   * and the runtime does not run it.
   */
  isFree(uid: string): boolean {
    const { admittedPods, podOutcomes, listedSandboxes, sourcesReady } = this.#parts;
    const lifecycle = podOutcomes.get(uid)?.lifecycle;
    if (lifecycle !== undefined) return hasEnded(lifecycle);
    const isKnown = sourcesReady.value && listedSandboxes.value !== undefined;
    return isKnown && admittedPods.get(uid)?.verdict.kind !== "admitted" && !this.mayRun(uid);
  }

  /** A worker still has an earlier pod with this UID: only static pods reuse their UID. */
  hasEarlierLife(uid: string): boolean {
    return this.#parts.podOutcomes.get(uid) !== undefined;
  }

  /** The pods that an admission is evaluated against. A preempted pod that exceeded its time counts as gone. */
  podsOnNode(pods: readonly Pod[]): PodsOnNode {
    const uidOf = ({ metadata }: Pod) => metadata?.uid ?? "";
    const isPreempted = (pod: Pod) => this.#preemptions.has(uidOf(pod));
    return {
      active: pods.filter((pod) => !isPreempted(pod)),
      preempted: pods.filter((pod) => isPreempted(pod) && !this.#preemptions.isLate(uidOf(pod))),
    };
  }
}

/**
 * Decisions and allocations of a previous kubelet process, from the journal. Such verdicts stand: these pods are not
 * evaluated or allocated again.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { AdmissionResult } from "../../domain/admission/admission.ts";
import type { AdmittedVerdict } from "../../domain/admission/verdict.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import { type AllocationFact, isFinishedForGood, type JournaledPod } from "../../domain/journal/journaled-pod.ts";
import type { DesiredPod } from "../../domain/pod/desired-pod.ts";
import { isStaticPod } from "../../domain/pod/pod-identity.ts";
import { isTerminal } from "../../domain/pod-status/phase.ts";
import { allocationOf, withAllocation } from "../../domain/resize/allocation.ts";
import type { AllocationStage } from "./allocation.ts";
import type { HoldingPods } from "./holding-pods.ts";

/** An admission result, with the allocation of an admitted pod. */
export type Decision = Exclude<AdmissionResult, { kind: "admitted" }> | AdmittedVerdict;

export interface Decided {
  readonly each: DesiredPod;
  readonly decision: Decision;
  /** Whether the decision is not journaled yet. */
  readonly isNew: boolean;
}

export class EarlierDecisions {
  readonly #journaledPods: Map<string, JournaledPod>;
  readonly #holding: Pick<HoldingPods, "mayRun">;
  readonly #allocation: Pick<AllocationStage, "isEmpty">;

  constructor(
    journaledPods: ReadonlyMap<string, JournaledPod>,
    holding: Pick<HoldingPods, "mayRun">,
    allocation: Pick<AllocationStage, "isEmpty">,
  ) {
    this.#journaledPods = new Map(journaledPods);
    this.#holding = holding;
    this.#allocation = allocation;
  }

  /** Whether the journal alone determines the decision. */
  isDecided({ uid }: DesiredPod): boolean {
    const before = this.#journaledPods.get(uid);
    return before?.admission?.kind === "rejected" || (before?.admission !== undefined && this.#isAllocated(before));
  }

  /**
   * The pod left its source or has terminated. Without allocators no other pod can get what it had, so the verdict also
   * stands for a later pod with this UID.
   */
  forget(uid: string): void {
    if (!this.#allocation.isEmpty) this.#journaledPods.delete(uid);
  }

  /**
   * The decision for a pod that must not be evaluated: it was decided by a previous kubelet process, runs already, or
   * has terminated.
   */
  of(each: DesiredPod): Decided | undefined {
    const { uid, pod } = each;
    const before = this.#journaledPods.get(uid);
    // A terminated UID is not admitted again, unless its manifest was removed and returned.
    if (before?.admission?.kind === "rejected") {
      return { each, decision: { kind: "rejected", rejection: before.admission }, isNew: false };
    }
    const decision = { kind: "admitted", allocation: this.given(each) } as const;
    if (this.wasAdmitted(each) && this.#isAllocated(before)) return { each, decision, isNew: false };
    const hasEnded =
      pod.metadata?.deletionTimestamp !== undefined || (isTerminal(pod.status?.phase) && !isStaticPod(pod));
    return hasEnded || this.#holding.mayRun(uid) ? { each, decision, isNew: true } : undefined;
  }

  wasAdmitted({ uid, pod }: DesiredPod): boolean {
    const before = this.#journaledPods.get(uid);
    const goesOn =
      before !== undefined && (before.finishedWallMs === undefined || isFinishedForGood(before, isStaticPod(pod)));
    return goesOn && before.admission?.kind === "admitted";
  }

  /** The allocation in the current lifecycle of this UID; undefined if there is none. */
  allocated({ uid }: DesiredPod): AllocationFact | undefined {
    const before = this.#journaledPods.get(uid);
    return before?.finishedWallMs === undefined ? before?.allocated : undefined;
  }

  asAllocated(each: DesiredPod): Pod {
    const before = this.allocated(each);
    return before === undefined ? each.pod : withAllocation(each.pod, before.allocation);
  }

  /** The pod's allocation before any allocator is called. */
  given(each: DesiredPod): PodAllocation {
    const containers = this.allocated(each)?.containerAllocations ?? {};
    return { resources: allocationOf(this.asAllocated(each)), containers };
  }

  /**
   * False: the previous kubelet process stopped before it journaled the allocation, so it published nothing and the pod
   * has not started.
   */
  #isAllocated(before: JournaledPod | undefined): boolean {
    return this.#allocation.isEmpty || before?.allocated !== undefined;
  }
}

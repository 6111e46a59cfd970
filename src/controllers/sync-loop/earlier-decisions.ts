/** What an earlier agent decided about a pod and gave it, from the journal. Such a verdict stands, and such a pod is not judged or allocated again. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { Judgement } from "../../domain/admission/admission.ts";
import type { AdmittedVerdict } from "../../domain/admission/verdict.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import { type AllocationFact, isOver, type UidFacts } from "../../domain/journal/facts.ts";
import type { DesiredPod } from "../../domain/pod/desired-pod.ts";
import { isStaticPod } from "../../domain/pod/pod-identity.ts";
import { isTerminal } from "../../domain/pod-status/phase.ts";
import { allocationOf, withAllocation } from "../../domain/resize/allocation.ts";
import type { AllocationStage } from "./allocation.ts";
import type { HoldingPods } from "./holding-pods.ts";

/** A judgement, with what an admitted pod is given. */
export type Decision = Exclude<Judgement, { kind: "admitted" }> | AdmittedVerdict;

export interface Decided {
  readonly each: DesiredPod;
  readonly decision: Decision;
  /** Not in the journal yet. */
  readonly isNew: boolean;
}

export class EarlierDecisions {
  readonly #facts: Map<string, UidFacts>;
  readonly #holding: Pick<HoldingPods, "mayRun">;
  readonly #allocation: Pick<AllocationStage, "isEmpty">;

  constructor(
    facts: ReadonlyMap<string, UidFacts>,
    holding: Pick<HoldingPods, "mayRun">,
    allocation: Pick<AllocationStage, "isEmpty">,
  ) {
    this.#facts = new Map(facts);
    this.#holding = holding;
    this.#allocation = allocation;
  }

  /** Whether the journal alone says what becomes of the pod. */
  isDecided({ uid }: DesiredPod): boolean {
    const before = this.#facts.get(uid);
    return before?.admission?.kind === "rejected" || (before?.admission !== undefined && this.#isAllocated(before));
  }

  /** The pod has left or has ended. Without allocators nothing that it had can be another pod's, so the verdict stands for its next life too. */
  forget(uid: string): void {
    if (!this.#allocation.isEmpty) this.#facts.delete(uid);
  }

  /** Of a pod that is not to be judged: an earlier agent has judged it, or it runs, or it has ended. */
  of(each: DesiredPod): Decided | undefined {
    const { uid, pod } = each;
    const before = this.#facts.get(uid);
    // A UID that has ended is not admitted again, unless its manifest went and came back.
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
    const before = this.#facts.get(uid);
    const goesOn = before !== undefined && (before.finishedWallMs === undefined || isOver(before, isStaticPod(pod)));
    return goesOn && before.admission?.kind === "admitted";
  }

  /** What it was allocated in this life. */
  allocated({ uid }: DesiredPod): AllocationFact | undefined {
    const before = this.#facts.get(uid);
    return before?.finishedWallMs === undefined ? before?.allocated : undefined;
  }

  asAllocated(each: DesiredPod): Pod {
    const before = this.allocated(each);
    return before === undefined ? each.pod : withAllocation(each.pod, before.allocation);
  }

  /** What the pod has before any allocator is called. */
  given(each: DesiredPod): PodAllocation {
    const containers = this.allocated(each)?.containerAllocations ?? {};
    return { resources: allocationOf(this.asAllocated(each)), containers };
  }

  /** False: that agent stopped before the journal had the allocation, so it published nothing and the pod has not started. */
  #isAllocated(before: UidFacts | undefined): boolean {
    return this.#allocation.isEmpty || before?.allocated !== undefined;
  }
}

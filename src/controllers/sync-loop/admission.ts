/**
 * Admits or rejects each new pod once, in the journal first, and publishes the verdict in `admittedPods`. A verdict is never taken back; a UID whose
 * containers already run is never judged. What cannot be decided yet is deferred: the pod waits, and its status says for what. Between the decision to
 * admit a pod and its publication stands its allocation (`allocation.ts`).
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import type { Watch } from "../../concurrency/turns.ts";
import { type Judgement, judge } from "../../domain/admission/admission.ts";
import type { NodeForPods } from "../../domain/admission/node-for-pods.ts";
import type { AdmittedVerdict, Deferral, Rejection, Verdict } from "../../domain/admission/verdict.ts";
import type { UidFacts } from "../../domain/journal/facts.ts";
import { allocatedRecord, decisionRecord } from "../../domain/journal/records.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import { rejectionLabel } from "../../domain/metrics/rejection-reason.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { byCreation, type DesiredPod } from "../../domain/pod/desired-pod.ts";
import { initContainers, regularContainers } from "../../domain/pod/every-container.ts";
import { isStaticPod, keyOf } from "../../domain/pod/pod-identity.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { isCarriedOut } from "../../domain/resize/actuation.ts";
import { withAllocation } from "../../domain/resize/allocation.ts";
import { generationOf, pendingBefore } from "../../domain/resize/pod-resize.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { AdmissionContextReader } from "./admission-context.ts";
import type { AllocationStage } from "./allocation.ts";
import { type Decided, type Decision, EarlierDecisions } from "./earlier-decisions.ts";
import type { HoldingPods } from "./holding-pods.ts";
import type { Preemptions } from "./preemptions.ts";

export interface AdmissionParts {
  readonly journal: Journal;
  readonly events: EventSink;
  readonly clock: Clock;
  /** Undefined until the runtime has been asked what it has. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly admittedPods: LatestTable<string, AdmittedPod>;
  readonly facts: ReadonlyMap<string, UidFacts>;
  readonly context: Pick<AdmissionContextReader, "read" | "fetchNode">;
  readonly watch: Pick<Watch, "turned">;
  readonly podMetrics?: Pick<PodMetrics, "rejected">;
}

interface Judged {
  readonly each: DesiredPod;
  readonly judgement: Judgement;
}

/** The runtime's first answer is not waited for longer without a word. */
const UNLOOKED_NOTED_MS = 5_000;

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #holding: HoldingPods;
  readonly #preemptions: Pick<Preemptions, "begin">;
  readonly #allocation: AllocationStage;
  readonly #earlier: EarlierDecisions;
  /** Those of which the journal has that they wait for a first look at the runtime. */
  readonly #unlooked = new Set<string>();

  constructor(
    parts: AdmissionParts,
    holding: HoldingPods,
    preemptions: Pick<Preemptions, "begin">,
    allocation: AllocationStage,
  ) {
    this.#parts = parts;
    this.#holding = holding;
    this.#preemptions = preemptions;
    this.#allocation = allocation;
    this.#earlier = new EarlierDecisions(parts.facts, holding, allocation);
  }

  /** What an earlier agent decided stands. Of a pod that this journal does not know, the runtime must have been asked whether it runs. */
  isJudgeable(each: DesiredPod): boolean {
    return this.#parts.listedSandboxes.value !== undefined || this.#earlier.isDecided(each);
  }

  /** Of a pod that cannot be judged yet. */
  noteUnlooked(each: DesiredPod): void {
    const named = this.#named(each);
    if (this.#unlooked.has(each.uid) || named.wallMs - each.firstSeenWallMs < UNLOOKED_NOTED_MS) return;
    this.#unlooked.add(each.uid);
    const why = "WaitingForRuntime: the container runtime has not said yet what it runs";
    this.#parts.journal.note(decisionRecord(named, { kind: "defer", why }));
  }

  /** The pod has left its source, or what it had is released: what an earlier agent decided is not about its next life. */
  forget(uid: string): void {
    this.#earlier.forget(uid);
  }

  async decide(undecided: readonly DesiredPod[], holding: readonly Pod[], shutdown: AbortSignal): Promise<void> {
    const facts = await this.#parts.context.read(shutdown);
    // These pods keep their part of the node, whatever the node has now, and are published before others get any.
    const known = undecided.flatMap((each) => this.#earlier.of(each) ?? []);
    await Promise.all(known.map((one) => this.#settle(one)));
    const settled = new Set(known.map(({ each }) => each));
    for (const each of undecided.filter((one) => !settled.has(one) && this.#earlier.wasAdmitted(one))) {
      await this.#settleAllocated(each, await this.#allocate(each, shutdown));
      settled.add(each);
    }
    const holders = [...settled].filter((each) => this.#isHolding(each)).map((each) => this.#earlier.asAllocated(each));
    // Older ones first.
    const others = undecided.filter((each) => !settled.has(each)).toSorted(byCreation);
    await this.#decideNew(others, [...holding, ...holders], facts, shutdown);
  }

  async #decideNew(
    undecided: readonly DesiredPod[],
    holding: readonly Pod[],
    facts: NodeForPods,
    shutdown: AbortSignal,
  ): Promise<void> {
    const judged = [...(await this.#judge(undecided, holding, facts, shutdown))];
    if (this.#allocation.isEmpty) {
      await Promise.all(judged.map((one) => this.#settle(this.#decided(one))));
      return;
    }
    const beside = [...holding];
    for (let one = judged.shift(); one !== undefined; one = judged.shift()) {
      const { each, judgement } = one;
      const decision = judgement.kind === "admitted" ? await this.#allocate(each, shutdown) : judgement;
      await this.#settleAllocated(each, decision);
      if (decision !== undefined && takesRoom(decision)) {
        beside.push(this.#earlier.asAllocated(each));
      } else if (takesRoom(judgement)) {
        // What was kept for this pod is free, so the pods after it are judged without it.
        const later = judged.splice(0).map((other) => other.each);
        judged.push(...(await this.#judge(later, beside, facts, shutdown)));
      }
    }
  }

  /** Each beside those before it. Where only labels speak against a pod, the API server may have newer ones. */
  async #judge(
    undecided: readonly DesiredPod[],
    holding: readonly Pod[],
    facts: NodeForPods,
    shutdown: AbortSignal,
  ): Promise<readonly Judged[]> {
    const judged = this.#judgeAll(undecided, holding, facts);
    if (!judged.some(({ judgement }) => judgement.kind === "misplaced")) return judged;
    const node = await this.#parts.context.fetchNode(shutdown);
    return node === undefined ? judged : this.#judgeAll(undecided, holding, { ...facts, node });
  }

  #judgeAll(undecided: readonly DesiredPod[], holding: readonly Pod[], facts: NodeForPods): readonly Judged[] {
    let { staying, leaving } = this.#holding.beside(holding);
    return undecided.map((each): Judged => {
      const pod = this.#earlier.asAllocated(each);
      const judgement = judge(pod, { staying, leaving }, facts);
      if (judgement.kind === "preempts") {
        const victims = new Set(judgement.victims);
        staying = staying.filter((other) => !victims.has(other));
        leaving = [...leaving, ...victims];
      }
      if (takesRoom(judgement)) staying = [...staying, pod];
      return { each, judgement };
    });
  }

  #isHolding({ uid }: DesiredPod): boolean {
    return this.#parts.admittedPods.get(uid)?.verdict.kind === "admitted" && this.#holding.holds(uid);
  }

  #decided({ each, judgement }: Judged): Decided {
    const decision =
      judgement.kind === "admitted" ? { ...judgement, allocation: this.#earlier.given(each) } : judgement;
    return { each, decision, isNew: true };
  }

  /** Undefined: not yet, what an earlier life of this static pod was given may still be in use. */
  async #allocate(each: DesiredPod, shutdown: AbortSignal): Promise<Verdict | undefined> {
    if (this.#allocation.has(each.uid) || this.#holding.hasEarlierLife(each.uid)) return undefined;
    this.#parts.watch.turned();
    return this.#allocation.allocate(this.#earlier.asAllocated(each), this.#earlier.given(each), shutdown);
  }

  async #settleAllocated(each: DesiredPod, decision: Decision | undefined): Promise<void> {
    if (decision === undefined) return;
    try {
      await this.#settle({ each, decision, isNew: true });
    } catch (error) {
      // Not published: the next turn allocates it again.
      this.#allocation.release(each.uid);
      throw error;
    }
  }

  async #settle({ each, decision, isNew }: Decided): Promise<void> {
    switch (decision.kind) {
      case "admitted":
        return this.#admit(each, decision, isNew);
      case "misplaced":
      case "rejected":
        return this.#reject(each, decision.rejection, isNew);
      case "preempts":
        for (const victim of decision.victims) this.#preemptions.begin(victim, each.pod, decision.resource);
        return this.#defer(each, decision.deferral);
      case "deferred":
        return this.#defer(each, decision.deferral);
      default:
        return assertNever(decision);
    }
  }

  async #admit(each: DesiredPod, verdict: AdmittedVerdict, isNew: boolean): Promise<void> {
    const { journal } = this.#parts;
    const noted: Promise<void>[] = [];
    if (isNew) {
      const parts = [...initContainers(each.pod.spec), ...regularContainers(each.pod.spec)];
      const containers = parts.map(({ role, container }) => ({ role, name: container.name }));
      journal.note(decisionRecord(this.#named(each), { kind: "admit", containers }));
      noted.push(journal.append({ kind: "admitted", ...this.#named(each) }));
    }
    const before = this.#earlier.allocated(each);
    if (isNew || before === undefined || before.isForeign) {
      const generation = generationOf(each.pod);
      noted.push(journal.append(allocatedRecord(this.#named(each), generation, verdict.allocation)));
      if (before !== undefined && isCarriedOut(before)) {
        noted.push(journal.append({ kind: "resized", ...this.#named(each), generation }));
      }
    }
    await Promise.all(noted);
    this.#publish(each, verdict);
  }

  async #reject(each: DesiredPod, rejection: Rejection, isNew: boolean): Promise<void> {
    const { journal, podMetrics } = this.#parts;
    if (isNew) {
      const { reason, message } = rejection;
      await journal.append({ kind: "rejected", ...this.#named(each), reason, message });
      podMetrics?.rejected.increment(rejectionLabel(reason));
      this.#emit(each.pod, "Warning", rejection);
    }
    this.#publish(each, { kind: "rejected", rejection });
  }

  #defer(each: DesiredPod, deferral: Deferral): void {
    const { journal, admittedPods } = this.#parts;
    if (sameDeferral(admittedPods.get(each.uid)?.verdict, deferral)) return;
    const { reason, message } = deferral;
    journal.note(decisionRecord(this.#named(each), { kind: "defer", why: `${reason}: ${message}` }));
    this.#emit(each.pod, "Normal", deferral);
    this.#publish(each, { kind: "deferred", deferral });
  }

  #named({ uid, pod }: DesiredPod) {
    return { uid, pod: keyOf(pod), wallMs: this.#parts.clock.wallMs() };
  }

  #publish(each: DesiredPod, verdict: Verdict): void {
    const { uid, pod: desired, firstSeenWallMs, found } = each;
    const pod = verdict.kind === "admitted" ? withAllocation(desired, verdict.allocation.resources) : desired;
    const before = this.#earlier.allocated(each);
    const isUnderWay = before !== undefined && !isCarriedOut(before);
    const pending = pod === desired ? undefined : pendingBefore(desired);
    const resize = {
      desired,
      ...(isUnderWay && { granted: before.generation || generationOf(desired) }),
      ...(pending !== undefined && { pending }),
    };
    const isStatic = isStaticPod(desired);
    const isNeeded = verdict.kind === "admitted" && (pod !== desired || isUnderWay);
    this.#parts.admittedPods.set(uid, {
      uid,
      pod,
      isStatic,
      firstSeenWallMs,
      found,
      verdict,
      ...(isNeeded && { resize }),
    });
  }

  #emit(pod: Pod, type: "Normal" | "Warning", { reason, message }: Rejection | Deferral): void {
    this.#parts.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, type, reason, message);
  }
}

const sameDeferral = (known: Verdict | undefined, { reason, message }: Deferral): boolean =>
  known?.kind === "deferred" && known.deferral.reason === reason && known.deferral.message === message;

/** Also before it is admitted: room that is being made for it is nobody else's. */
const takesRoom = (judgement: Judgement | Decision): boolean =>
  judgement.kind === "admitted" ||
  judgement.kind === "preempts" ||
  (judgement.kind === "deferred" && judgement.deferral.reason === "WaitingForPreemption");

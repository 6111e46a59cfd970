/**
 * Admits or rejects each new pod once, journals the verdict, and then publishes it in `admittedPods`. A verdict is
 * never withdrawn. A UID whose containers already run is not evaluated again. A deferred pod's status says what it waits
 * for; `undecidedPods` says what happens to a pod while a fact is missing. Resources are allocated after the decision to
 * admit a pod and before its publication (`allocation.ts`).
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { type AdmissionResult, admit } from "../../domain/admission/admission.ts";
import type { AdmissionContext } from "../../domain/admission/admission-context.ts";
import type { UndecidedPods } from "../../domain/admission/undecided-pods.ts";
import type { AdmittedVerdict, Deferral, Rejection, Verdict } from "../../domain/admission/verdict.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { JournaledPod } from "../../domain/journal/journaled-pod.ts";
import { allocatedRecord, decisionRecord } from "../../domain/journal/records.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import { rejectionLabel } from "../../domain/metrics/rejection-reason.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { initContainers, regularContainers } from "../../domain/pod/containers.ts";
import { byCreation, type DesiredPod } from "../../domain/pod/desired-pod.ts";
import { isStaticPod, keyOf } from "../../domain/pod/pod-identity.ts";
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
  /** Undefined until the runtime was listed for the first time. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly admittedPods: LatestTable<string, AdmittedPod>;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
  readonly context: Pick<AdmissionContextReader, "read" | "fetchNode">;
  readonly undecidedPods: UndecidedPods;
  readonly heartbeat: Pick<Heartbeat, "beat">;
  readonly podMetrics?: Pick<PodMetrics, "rejected">;
}

interface Evaluated {
  readonly each: DesiredPod;
  readonly result: AdmissionResult;
}

interface Undecided {
  /** On the monotonic clock. */
  readonly dueMs: number;
  /** It was decided with what is known; it may still wait for something else. */
  wasForced: boolean;
}

/** A longer wait for the runtime's first list is journaled. */
const NOT_LISTED_NOTED_MS = 5_000;

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #holding: HoldingPods;
  readonly #preemptions: Pick<Preemptions, "begin">;
  readonly #allocation: AllocationStage;
  readonly #earlier: EarlierDecisions;
  /** Pods whose wait for the runtime's first list is journaled. */
  readonly #notListedYet = new Set<string>();
  /** Pods for which a fact was missing. Empty if such pods wait as long as it takes. */
  readonly #undecided = new Map<string, Undecided>();

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
    this.#earlier = new EarlierDecisions(parts.journaledPods, holding, allocation);
  }

  /**
   * Decisions of a previous kubelet process stand. A pod that the journal does not know can be decided only after the
   * runtime was listed, which shows whether the pod runs.
   */
  isDecidable(each: DesiredPod): boolean {
    return this.#parts.listedSandboxes.value !== undefined || this.#earlier.isDecided(each);
  }

  /** Journals that a pod waits because it cannot be decided yet. */
  noteNotListedYet(each: DesiredPod): void {
    const named = this.#named(each);
    if (this.#notListedYet.has(each.uid) || named.wallMs - each.firstSeenWallMs < NOT_LISTED_NOTED_MS) return;
    this.#notListedYet.add(each.uid);
    const why = "WaitingForRuntime: the container runtime has not said yet what it runs";
    this.#parts.journal.note(decisionRecord(named, { kind: "defer", why }));
  }

  /**
   * The pod left its source or its resources were released: decisions of a previous kubelet process do not apply to a
   * later pod with this UID.
   */
  forget(uid: string): void {
    this.#earlier.forget(uid);
  }

  /** The time until one of these pods must be decided with what is known. */
  dueInMs(pods: readonly DesiredPod[]): number {
    const uids = new Set(pods.map(({ uid }) => uid));
    let dueInMs = Number.POSITIVE_INFINITY;
    for (const [uid, { dueMs, wasForced }] of this.#undecided) {
      if (!uids.has(uid)) this.#undecided.delete(uid);
      else if (!wasForced) dueInMs = Math.min(dueInMs, Math.max(1, dueMs - this.#parts.clock.monotonicMs()));
    }
    return dueInMs;
  }

  async decide(undecided: readonly DesiredPod[], holding: readonly Pod[], shutdown: AbortSignal): Promise<void> {
    const context = await this.#parts.context.read(shutdown);
    // These pods keep their resources even if the node shrank, and are published before others get any.
    const known = undecided.flatMap((each) => this.#earlier.of(each) ?? []);
    await Promise.all(known.map((one) => this.#settle(one)));
    const settled = new Set(known.map(({ each }) => each));
    for (const each of undecided.filter((one) => !settled.has(one) && this.#earlier.wasAdmitted(one))) {
      await this.#settleAllocated(each, await this.#allocate(each, shutdown));
      settled.add(each);
    }
    const holders = [...settled].filter((each) => this.#isHolding(each)).map((each) => this.#earlier.asAllocated(each));
    // Oldest first.
    const others = undecided.filter((each) => !settled.has(each)).toSorted(byCreation);
    await this.#decideNew(others, [...holding, ...holders], context, shutdown);
  }

  async #decideNew(
    undecided: readonly DesiredPod[],
    holding: readonly Pod[],
    context: AdmissionContext,
    shutdown: AbortSignal,
  ): Promise<void> {
    const evaluated = [...(await this.#evaluate(undecided, holding, context, shutdown))];
    if (this.#allocation.isEmpty) {
      await Promise.all(evaluated.map((one) => this.#settle(this.#decided(one))));
      return;
    }
    const onNode = [...holding];
    for (let one = evaluated.shift(); one !== undefined; one = evaluated.shift()) {
      const { each, result } = one;
      const decision = result.kind === "admitted" ? await this.#allocate(each, shutdown) : result;
      await this.#settleAllocated(each, decision);
      if (decision !== undefined && reservesResources(decision)) {
        onNode.push(this.#earlier.asAllocated(each));
      } else if (reservesResources(result)) {
        // What was reserved for this pod is free again, so the pods after it are evaluated without it.
        const later = evaluated.splice(0).map((other) => other.each);
        evaluated.push(...(await this.#evaluate(later, onNode, context, shutdown)));
      }
    }
  }

  /**
   * Evaluates each pod together with the pods before it. If only node labels speak against a pod, the API server may
   * have newer labels.
   */
  async #evaluate(
    undecided: readonly DesiredPod[],
    holding: readonly Pod[],
    context: AdmissionContext,
    shutdown: AbortSignal,
  ): Promise<readonly Evaluated[]> {
    const evaluated = this.#evaluateAll(undecided, holding, context);
    if (!evaluated.some(({ result }) => result.kind === "labelMismatch")) return evaluated;
    const node = await this.#parts.context.fetchNode(shutdown);
    return node === undefined ? evaluated : this.#evaluateAll(undecided, holding, { ...context, node });
  }

  #evaluateAll(
    undecided: readonly DesiredPod[],
    holding: readonly Pod[],
    context: AdmissionContext,
  ): readonly Evaluated[] {
    let { active, preempted } = this.#holding.podsOnNode(holding);
    return undecided.map((each): Evaluated => {
      const pod = this.#earlier.asAllocated(each);
      const result = admit(pod, { active, preempted }, { ...context, mustDecide: this.#mustDecide(each.uid) });
      if (result.kind === "preempts") {
        const victims = new Set(result.victims);
        active = active.filter((other) => !victims.has(other));
        preempted = [...preempted, ...victims];
      }
      if (reservesResources(result)) active = [...active, pod];
      return { each, result };
    });
  }

  #mustDecide(uid: string): boolean {
    const undecided = this.#undecided.get(uid);
    if (undecided === undefined || this.#parts.clock.monotonicMs() < undecided.dueMs) return false;
    undecided.wasForced = true;
    return true;
  }

  #isHolding({ uid }: DesiredPod): boolean {
    return this.#parts.admittedPods.get(uid)?.verdict.kind === "admitted" && this.#holding.holdsResources(uid);
  }

  #decided({ each, result }: Evaluated): Decided {
    const decision = result.kind === "admitted" ? { ...result, allocation: this.#earlier.given(each) } : result;
    return { each, decision, isNew: true };
  }

  /** Undefined: not yet, because the resources of an earlier static pod with this UID may still be in use. */
  async #allocate(each: DesiredPod, shutdown: AbortSignal): Promise<Verdict | undefined> {
    if (this.#allocation.has(each.uid) || this.#holding.hasEarlierLife(each.uid)) return undefined;
    this.#parts.heartbeat.beat();
    return this.#allocation.allocate(this.#earlier.asAllocated(each), this.#earlier.given(each), shutdown);
  }

  async #settleAllocated(each: DesiredPod, decision: Decision | undefined): Promise<void> {
    if (decision === undefined) return;
    try {
      await this.#settle({ each, decision, isNew: true });
    } catch (error) {
      // The verdict was not published: the next iteration allocates the pod again.
      this.#allocation.release(each.uid);
      throw error;
    }
  }

  async #settle({ each, decision, isNew }: Decided): Promise<void> {
    switch (decision.kind) {
      case "admitted":
        return this.#admit(each, decision, isNew);
      case "labelMismatch":
      case "rejected":
        return this.#reject(each, decision.rejection, isNew);
      case "preempts":
        for (const victim of decision.victims) this.#preemptions.begin(victim, each.pod, decision.resource);
        return this.#defer(each, decision.deferral);
      case "deferred":
        return this.#defer(each, decision.deferral);
      case "undecidable":
        return this.#waitForFact(each, decision.deferral);
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

  #waitForFact(each: DesiredPod, deferral: Deferral): void {
    const { clock, undecidedPods } = this.#parts;
    if (undecidedPods.kind === "wait") return this.#defer(each, deferral);
    const dueMs = clock.monotonicMs() + undecidedPods.afterMs;
    if (!this.#undecided.has(each.uid)) this.#undecided.set(each.uid, { dueMs, wasForced: false });
    this.#defer(each, { ...deferral, isSilent: true });
  }

  #defer(each: DesiredPod, deferral: Deferral): void {
    if (sameDeferral(this.#parts.admittedPods.get(each.uid)?.verdict, deferral)) return;
    const { reason, message, isSilent } = deferral;
    this.#parts.journal.note(decisionRecord(this.#named(each), { kind: "defer", why: `${reason}: ${message}` }));
    if (!isSilent) this.#emit(each.pod, "Normal", deferral);
    this.#publish(each, { kind: "deferred", deferral });
  }

  #named({ uid, pod }: DesiredPod) {
    return { uid, pod: keyOf(pod), wallMs: this.#parts.clock.wallMs() };
  }

  #publish(each: DesiredPod, verdict: Verdict): void {
    const { uid, pod: desired, incarnation, firstSeenWallMs, initialStatus } = each;
    const pod = verdict.kind === "admitted" ? withAllocation(desired, verdict.allocation.resources) : desired;
    const before = this.#earlier.allocated(each);
    const isUnderWay = before !== undefined && !isCarriedOut(before);
    const pending = pod === desired ? undefined : pendingBefore(desired);
    const resize = {
      desired,
      ...(isUnderWay && { allocatedGeneration: before.generation || generationOf(desired) }),
      ...(pending !== undefined && { pending }),
    };
    const isStatic = isStaticPod(desired);
    const isNeeded = verdict.kind === "admitted" && (pod !== desired || isUnderWay);
    this.#parts.admittedPods.set(uid, {
      uid,
      pod,
      isStatic,
      incarnation,
      firstSeenWallMs,
      initialStatus,
      verdict,
      ...(isNeeded && { resize }),
    });
  }

  #emit(pod: Pod, type: "Normal" | "Warning", { reason, message }: Rejection | Deferral): void {
    this.#parts.events.emit(podSubject(pod), type, reason, message);
  }
}

const sameDeferral = (known: Verdict | undefined, { reason, message }: Deferral): boolean =>
  known?.kind === "deferred" && known.deferral.reason === reason && known.deferral.message === message;

/**
 * Also applies before admission: resources that a preemption frees for this pod, and those of a pod that only waits for
 * its RuntimeClass, are reserved for it.
 */
const reservesResources = (result: AdmissionResult | Decision): boolean =>
  result.kind === "admitted" ||
  result.kind === "preempts" ||
  (result.kind === "undecidable" && result.fits) ||
  (result.kind === "deferred" && result.deferral.reason === "WaitingForPreemption");

/**
 * Grants the resize requests of running pods one after the other, each evaluated against the other pods' allocations.
 * Only this module changes an existing allocation. A granted resize is journaled before it is published; a pending one
 * has a reason and is retried in every iteration of the loop.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { AdmissionContext } from "../../domain/admission/admission-context.ts";
import { type AdmittedVerdict, withResourcesOf } from "../../domain/admission/verdict.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { allocatedRecord, decisionRecord } from "../../domain/journal/records.ts";
import type { ResizeMetrics } from "../../domain/metrics/resize-metrics.ts";
import { type AdmittedPod, desiredOf } from "../../domain/pod/admitted-pod.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import { keyOf } from "../../domain/pod/pod-identity.ts";
import { isTerminal } from "../../domain/pod-status/phase.ts";
import { withAllocation } from "../../domain/resize/allocation.ts";
import { decideResize, type ResizeDecision, type ResizeSettings } from "../../domain/resize/decision.ts";
import { inOrder } from "../../domain/resize/order.ts";
import { generationOf, isNews, type PodResize, pendingAfter } from "../../domain/resize/pod-resize.ts";
import { requestedResizes } from "../../domain/resize/requested.ts";
import { pendingText, startedText } from "../../domain/resize/texts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { HoldingPods } from "./holding-pods.ts";
import type { Preemptions } from "./preemptions.ts";

export interface ResizeParts {
  readonly journal: Journal;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly admittedPods: LatestTable<string, AdmittedPod>;
  readonly endRequests: ReadonlyTable<string, EndRequest>;
  readonly resize: ResizeSettings;
  readonly resizeMetrics?: ResizeMetrics;
}

interface ResizablePod extends AdmittedPod {
  readonly verdict: AdmittedVerdict;
}

/** The label value that says why pending resizes are retried. */
export type RetryTrigger = "pod_updated" | "pods_added" | "pods_removed" | "pod_terminated" | "periodic_retry";

export class Resizes {
  readonly #parts: ResizeParts;
  readonly #holding: HoldingPods;
  readonly #preemptions: Pick<Preemptions, "begin">;
  /** Changed pods that no iteration could evaluate yet. */
  readonly #changed = new Map<string, Pod>();

  constructor(parts: ResizeParts, holding: HoldingPods, preemptions: Pick<Preemptions, "begin">) {
    this.#parts = parts;
    this.#holding = holding;
    this.#preemptions = preemptions;
  }

  /** Whether this is a new version of the pod. */
  isNew(known: AdmittedPod, pod: Pod): boolean {
    return this.#desired(known) !== pod;
  }

  /**
   * Records a new version of the pod. If it requests other resources, it is published together with the resize
   * decision, in the same iteration.
   */
  update(known: AdmittedPod, pod: Pod): void {
    const before = this.#changed.get(known.uid) ?? desiredOf(known);
    for (const { resource, requirement, operation } of requestedResizes(before, pod)) {
      this.#parts.resizeMetrics?.requested.increment(resource, requirement, operation);
    }
    this.#changed.delete(known.uid);
    if (this.#isOpen(known, pod)) this.#changed.set(known.uid, pod);
    else this.#publish(known, pod);
  }

  /** Whether a resize waits for free resources. */
  get areWaiting(): boolean {
    const { admittedPods } = this.#parts;
    return [...admittedPods.keys()].some((uid) => admittedPods.get(uid)?.resize?.pending?.reason === "Deferred");
  }

  /** Pods with a resize to decide. */
  due(): readonly ResizablePod[] {
    const { admittedPods } = this.#parts;
    return [...admittedPods.keys()].flatMap((uid) => {
      const known = admittedPods.get(uid);
      const desired = this.#desired(known);
      if (known === undefined || desired === undefined || !this.#isOpen(known, desired)) return [];
      const { pending } = known.resize ?? {};
      const isSettled = pending?.reason === "Infeasible" && pending.generation === generationOf(desired);
      return isSettled && !this.#changed.has(uid) ? [] : [known];
    });
  }

  /** No resize can be decided yet: publishes the changed pods without a decision. */
  publishUndecided(): void {
    for (const [uid, pod] of this.#changed) {
      const known = this.#parts.admittedPods.get(uid);
      if (known !== undefined) this.#publish(known, pod);
    }
    this.#changed.clear();
  }

  async decide(context: AdmissionContext, reason: RetryTrigger): Promise<void> {
    const trigger = this.#changed.size > 0 ? "pod_updated" : reason;
    const waiting = this.due().map((known) => ({
      known,
      desired: this.#desired(known) ?? known.pod,
      allocated: known.pod,
      sinceWallMs: known.resize?.pending?.sinceWallMs,
    }));
    for (const { known, desired } of inOrder(waiting)) {
      const others = this.#holding.podsOnNode(this.#holding.all(known.uid));
      const decision = decideResize(desired, known.pod, others, context, this.#parts.resize);
      await this.#settle(known, desired, decision, trigger);
      this.#changed.delete(known.uid);
    }
    // Pods whose change requests no resize any more, or that terminated meanwhile.
    this.publishUndecided();
  }

  #desired(known: AdmittedPod | undefined): Pod | undefined {
    return known === undefined ? undefined : (this.#changed.get(known.uid) ?? desiredOf(known));
  }

  /** Whether the pod requests other resources than it has and is not terminating. */
  #isOpen(known: AdmittedPod, desired: Pod): known is ResizablePod {
    const { uid, verdict } = known;
    if (verdict.kind !== "admitted" || this.#parts.endRequests.get(uid) !== undefined) return false;
    if (!this.#holding.holdsResources(uid)) return false;
    if (desired.metadata?.deletionTimestamp !== undefined || isTerminal(desired.status?.phase)) return false;
    return withAllocation(desired, verdict.allocation.resources) !== desired;
  }

  /** Publishes the pod with its current allocation. A pending resize is dropped if it is no longer requested. */
  #publish(known: AdmittedPod, desired: Pod): void {
    const { resize: before, verdict: given, ...rest } = known;
    const pod = given.kind === "admitted" ? withAllocation(desired, given.allocation.resources) : desired;
    const verdict = given.kind === "admitted" ? withResourcesOf(given, pod) : given;
    const { pending, ...kept } = before ?? {};
    const resize = { ...kept, ...(pod !== desired && pending !== undefined && { pending }), desired };
    const isNeeded = pod !== desired || resize.allocatedGeneration !== undefined;
    this.#parts.admittedPods.set(known.uid, { ...rest, pod, verdict, ...(isNeeded && { resize }) });
  }

  async #settle(known: ResizablePod, desired: Pod, decision: ResizeDecision, trigger: RetryTrigger): Promise<void> {
    switch (decision.kind) {
      case "accepted":
        return this.#grant(known, desired, trigger);
      case "preempts":
        for (const victim of decision.victims) this.#preemptions.begin(victim, desired, decision.resource);
        return this.#wait(known, desired, decision);
      case "infeasible":
        this.#parts.resizeMetrics?.infeasible.increment(decision.detail);
        return this.#wait(known, desired, decision);
      case "deferred":
        return this.#wait(known, desired, decision);
      case "unknown":
        return this.#changed.has(known.uid) ? this.#publish(known, desired) : undefined;
      default:
        return assertNever(decision);
    }
  }

  async #grant(known: ResizablePod, desired: Pod, trigger: RetryTrigger): Promise<void> {
    const { journal, clock, events, admittedPods, resizeMetrics } = this.#parts;
    const { uid } = known;
    const [generation, pod, wallMs] = [generationOf(desired), keyOf(desired), clock.wallMs()];
    const verdict = withResourcesOf(known.verdict, desired);
    await journal.append(allocatedRecord({ uid, pod, wallMs }, generation, verdict.allocation));
    if (known.resize?.pending?.reason === "Deferred") resizeMetrics?.deferredAccepted.increment(trigger);
    events.emit(podSubject(desired), "Normal", "ResizeStarted", startedText(desired, generation));
    admittedPods.set(uid, { ...known, pod: desired, verdict, resize: { desired, allocatedGeneration: generation } });
  }

  #wait(known: ResizablePod, desired: Pod, decision: Exclude<ResizeDecision, { kind: "accepted" | "unknown" }>): void {
    const { journal, clock, events, admittedPods } = this.#parts;
    const { uid, resize: before } = known;
    const pending = pendingAfter(before?.pending, decision, desired, clock.wallMs());
    if (pending === before?.pending && !this.#changed.has(uid)) return;
    if (isNews(before?.pending, pending)) {
      const reason = decision.kind === "deferred" ? decision.reason : pending.reason;
      const text = pendingText(desired, pending.generation, reason, decision.message);
      events.emit(podSubject(desired), "Warning", `Resize${pending.reason}`, text);
      const why = `${pending.reason}: ${pending.message}`;
      journal.note(decisionRecord({ uid, pod: keyOf(desired), wallMs: clock.wallMs() }, { kind: "deferResize", why }));
    }
    const resize: PodResize = { ...before, desired, pending };
    const pod = withAllocation(desired, known.verdict.allocation.resources);
    admittedPods.set(uid, { ...known, pod, verdict: withResourcesOf(known.verdict, pod), resize });
  }
}

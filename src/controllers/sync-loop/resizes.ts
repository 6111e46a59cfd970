/**
 * Grants pods that run what their specs have come to want, one after the other, each beside what the others have: the only place that changes an
 * allocation. What is granted is in the journal before anyone sees it; what is not says why, and is tried again at every turn of the loop.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import type { NodeForPods } from "../../domain/admission/node-for-pods.ts";
import { type AdmittedVerdict, withResourcesOf } from "../../domain/admission/verdict.ts";
import { allocatedRecord, decisionRecord } from "../../domain/journal/records.ts";
import type { ResizeMetrics } from "../../domain/metrics/resize-metrics.ts";
import { type AdmittedPod, desiredOf } from "../../domain/pod/admitted-pod.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import { keyOf } from "../../domain/pod/pod-identity.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
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
  readonly endRequests: ReadTable<string, EndRequest>;
  readonly resize: ResizeSettings;
  readonly resizeMetrics?: ResizeMetrics;
}

interface ResizablePod extends AdmittedPod {
  readonly verdict: AdmittedVerdict;
}

/** Why those that wait are tried again, as it is counted. */
export type RetryTrigger = "pod_updated" | "pods_added" | "pods_removed" | "pod_terminated" | "periodic_retry";

export class Resizes {
  readonly #parts: ResizeParts;
  readonly #holding: HoldingPods;
  readonly #preemptions: Pick<Preemptions, "begin">;
  /** Changes that came since the last turn that could judge them. */
  readonly #changed = new Map<string, Pod>();

  constructor(parts: ResizeParts, holding: HoldingPods, preemptions: Pick<Preemptions, "begin">) {
    this.#parts = parts;
    this.#holding = holding;
    this.#preemptions = preemptions;
  }

  /** Whether this is news of it. */
  isNew(known: AdmittedPod, pod: Pod): boolean {
    return this.#desired(known) !== pod;
  }

  /** Its source has it anew. Where it wants other resources, that is seen together with what is decided of it, in this very turn. */
  update(known: AdmittedPod, pod: Pod): void {
    const before = this.#changed.get(known.uid) ?? desiredOf(known);
    for (const { resource, requirement, operation } of requestedResizes(before, pod)) {
      this.#parts.resizeMetrics?.requested.increment(resource, requirement, operation);
    }
    this.#changed.delete(known.uid);
    if (this.#isOpen(known, pod)) this.#changed.set(known.uid, pod);
    else this.#publish(known, pod);
  }

  /** Whether any waits for room. */
  get areWaiting(): boolean {
    const { admittedPods } = this.#parts;
    return [...admittedPods.keys()].some((uid) => admittedPods.get(uid)?.resize?.pending?.reason === "Deferred");
  }

  /** Pods of which something is to be decided. */
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

  /** Nothing can be decided yet: what has changed is seen without. */
  putOff(): void {
    for (const [uid, pod] of this.#changed) {
      const known = this.#parts.admittedPods.get(uid);
      if (known !== undefined) this.#publish(known, pod);
    }
    this.#changed.clear();
  }

  async decide(facts: NodeForPods, reason: RetryTrigger): Promise<void> {
    const trigger = this.#changed.size > 0 ? "pod_updated" : reason;
    const waiting = this.due().map((known) => ({
      known,
      desired: this.#desired(known) ?? known.pod,
      allocated: known.pod,
      sinceWallMs: known.resize?.pending?.sinceWallMs,
    }));
    for (const { known, desired } of inOrder(waiting)) {
      const others = this.#holding.beside(this.#holding.all(known.uid));
      const decision = decideResize(desired, known.pod, others, facts, this.#parts.resize);
      await this.#settle(known, desired, decision, trigger);
      this.#changed.delete(known.uid);
    }
    // Those whose change asks for nothing any more, or that ended meanwhile.
    this.putOff();
  }

  #desired(known: AdmittedPod | undefined): Pod | undefined {
    return known === undefined ? undefined : (this.#changed.get(known.uid) ?? desiredOf(known));
  }

  /** Whether it wants other resources than it has, and lives on. */
  #isOpen(known: AdmittedPod, desired: Pod): known is ResizablePod {
    const { uid, verdict } = known;
    if (verdict.kind !== "admitted" || this.#parts.endRequests.get(uid) !== undefined) return false;
    if (!this.#holding.holds(uid)) return false;
    if (desired.metadata?.deletionTimestamp !== undefined || isTerminal(desired.status?.phase)) return false;
    return withAllocation(desired, verdict.allocation.resources) !== desired;
  }

  /** With what it has. What it waited for is over where it does not want it any more. */
  #publish(known: AdmittedPod, desired: Pod): void {
    const { resize: before, verdict: given, ...rest } = known;
    const pod = given.kind === "admitted" ? withAllocation(desired, given.allocation.resources) : desired;
    const verdict = given.kind === "admitted" ? withResourcesOf(given, pod) : given;
    const { pending, ...kept } = before ?? {};
    const resize = { ...kept, ...(pod !== desired && pending !== undefined && { pending }), desired };
    const isNeeded = pod !== desired || resize.granted !== undefined;
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
    events.emit(subject(desired), "Normal", "ResizeStarted", startedText(desired, generation));
    admittedPods.set(uid, { ...known, pod: desired, verdict, resize: { desired, granted: generation } });
  }

  #wait(known: ResizablePod, desired: Pod, decision: Exclude<ResizeDecision, { kind: "accepted" | "unknown" }>): void {
    const { journal, clock, events, admittedPods } = this.#parts;
    const { uid, resize: before } = known;
    const pending = pendingAfter(before?.pending, decision, desired, clock.wallMs());
    if (pending === before?.pending && !this.#changed.has(uid)) return;
    if (isNews(before?.pending, pending)) {
      const reason = decision.kind === "deferred" ? decision.reason : pending.reason;
      const text = pendingText(desired, pending.generation, reason, decision.message);
      events.emit(subject(desired), "Warning", `Resize${pending.reason}`, text);
      const why = `${pending.reason}: ${pending.message}`;
      journal.note(decisionRecord({ uid, pod: keyOf(desired), wallMs: clock.wallMs() }, { kind: "deferResize", why }));
    }
    const resize: PodResize = { ...before, desired, pending };
    const pod = withAllocation(desired, known.verdict.allocation.resources);
    admittedPods.set(uid, { ...known, pod, verdict: withResourcesOf(known.verdict, pod), resize });
  }
}

const subject = (pod: Pod) => ({ kind: "Pod", ...podNameOfObject(pod) }) as const;

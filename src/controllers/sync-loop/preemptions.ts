/**
 * Tracks pods that are preempted for critical pods: since when, and whether they exceeded their time. Their termination
 * is requested in the table `preemptions`; their workers terminate them like any other pod.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import { PREEMPTED } from "../../domain/admission/preemption.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { decisionRecord } from "../../domain/journal/records.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { type EndRequest, EXCEEDED_GRACE_PERIOD, latenessMs } from "../../domain/pod/end-request.ts";
import { keyOf } from "../../domain/pod/pod-identity.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";

interface Preempted {
  readonly pod: Pod;
  /** The insufficient resource. */
  readonly resource: string;
  /** The latest time until which the critical pod waits, on the monotonic clock. */
  readonly untilMonotonicMs: number;
  isLate: boolean;
}

export interface PreemptionParts {
  readonly clock: Clock;
  readonly events: EventSink;
  readonly journal: Pick<Journal, "note">;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly preemptions: LatestTable<string, EndRequest>;
  readonly podMetrics?: Pick<PodMetrics, "preempted">;
}

export class Preemptions {
  readonly #parts: PreemptionParts;
  readonly #preempted = new Map<string, Preempted>();

  constructor(parts: PreemptionParts) {
    this.#parts = parts;
  }

  /** Whether the pod is preempted, by this process or, after a restart, by a previous kubelet process. */
  has(uid: string): boolean {
    return this.#preempted.has(uid) || isPreempted(this.#parts.podOutcomes.get(uid));
  }

  begin(victim: Pod, preemptor: Pod, resource: string): void {
    const { clock, events, journal, admittedPods, preemptions } = this.#parts;
    const name = podNameOfObject(victim);
    if (admittedPods.get(name.uid) === undefined) return;
    const why = `${keyOf(preemptor)} is critical and finds too little ${resource}`;
    const subject = { uid: name.uid, pod: keyOf(victim), wallMs: clock.wallMs() };
    journal.note(decisionRecord(subject, { kind: "preempt", why }));
    const untilMonotonicMs = clock.monotonicMs() + latenessMs(victim.spec?.terminationGracePeriodSeconds ?? 0);
    this.#preempted.set(name.uid, { pod: victim, resource, untilMonotonicMs, isLate: false });
    events.emit(podSubject(victim), "Warning", PREEMPTED.reason, PREEMPTED.message);
    preemptions.set(name.uid, PREEMPTED);
  }

  /** No source names the pod any more. */
  forget(uid: string): void {
    this.#parts.preemptions.delete(uid);
  }

  /**
   * Counts terminated pods and emits an event for pods that exceeded their time. Returns the time until the next pod
   * exceeds its time.
   */
  checkProgress(holdsResources: (uid: string) => boolean): number {
    const { clock, events, podMetrics } = this.#parts;
    const nowMs = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [uid, preempted] of this.#preempted) {
      if (!holdsResources(uid)) {
        this.#preempted.delete(uid);
        podMetrics?.preempted.increment(preempted.resource);
      } else if (!preempted.isLate && preempted.untilMonotonicMs <= nowMs) {
        preempted.isLate = true;
        events.emit(podSubject(preempted.pod), "Warning", EXCEEDED_GRACE_PERIOD.reason, EXCEEDED_GRACE_PERIOD.message);
      } else if (!preempted.isLate) {
        nextMs = Math.min(nextMs, preempted.untilMonotonicMs - nowMs);
      }
    }
    return nextMs;
  }

  /** Whether the pod exceeded its time; its resources count as free then. */
  isLate(uid: string): boolean {
    return this.#preempted.get(uid)?.isLate === true;
  }
}

const isPreempted = (outcome: PodOutcome | undefined): boolean => {
  const lifecycle = outcome?.lifecycle;
  const why = lifecycle === undefined || lifecycle.kind === "running" ? undefined : lifecycle.why;
  return why?.kind === "failed" && why.reason === PREEMPTED.reason;
};

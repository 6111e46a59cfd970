/**
 * Pods that end so that a critical one finds room: who they are, since when, and who has taken too long. They are told to end through
 * `admittedPods`; their workers end them as any other pod.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { PREEMPTED } from "../../domain/admission/preemption.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";

interface Departure {
  readonly pod: Pod;
  /** What there was too little of. */
  readonly resource: string;
  /** Nobody waits for it any longer than this, on the monotonic clock. */
  readonly untilMonotonicMs: number;
  isLate: boolean;
}

const WAIT_SECONDS_MIN = 10;

export interface DepartureParts {
  readonly clock: Clock;
  readonly events: EventSink;
  readonly podMetrics: Pick<PodMetrics, "preempted"> | undefined;
}

export class Departures {
  readonly #parts: DepartureParts;
  readonly #leaving = new Map<string, Departure>();

  constructor(parts: DepartureParts) {
    this.#parts = parts;
  }

  /** Whether it ends for another, by our word or, after a restart, by that of an agent before us. */
  has(uid: string, outcome: PodOutcome | undefined): boolean {
    return this.#leaving.has(uid) || isPreempted(outcome);
  }

  begin(pod: Pod, resource: string): void {
    const { clock, events } = this.#parts;
    const name = podNameOfObject(pod);
    const waitSeconds = Math.max(WAIT_SECONDS_MIN, (pod.spec?.terminationGracePeriodSeconds ?? 0) * 1.5);
    const untilMonotonicMs = clock.monotonicMs() + waitSeconds * 1000;
    this.#leaving.set(name.uid, { pod, resource, untilMonotonicMs, isLate: false });
    events.emit({ kind: "Pod", ...name }, "Warning", PREEMPTED.reason, PREEMPTED.message);
  }

  /** Counts those that have ended and names those that have not in time. Answers with when the next is too late. */
  look(holds: (uid: string) => boolean): number {
    const { clock, events, podMetrics } = this.#parts;
    const nowMs = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [uid, departure] of this.#leaving) {
      if (!holds(uid)) {
        this.#leaving.delete(uid);
        podMetrics?.preempted.increment(departure.resource);
      } else if (!departure.isLate && departure.untilMonotonicMs <= nowMs) {
        departure.isLate = true;
        const why = "Container runtime did not kill the pod within specified grace period.";
        events.emit({ kind: "Pod", ...podNameOfObject(departure.pod) }, "Warning", "ExceededGracePeriod", why);
      } else if (!departure.isLate) {
        nextMs = Math.min(nextMs, departure.untilMonotonicMs - nowMs);
      }
    }
    return nextMs;
  }

  /** What it holds is counted as free: nobody waits for it any more. */
  isLate(uid: string): boolean {
    return this.#leaving.get(uid)?.isLate === true;
  }
}

const isPreempted = (outcome: PodOutcome | undefined): boolean => {
  const lifecycle = outcome?.lifecycle;
  const why = lifecycle === undefined || lifecycle.kind === "running" ? undefined : lifecycle.why;
  return why?.kind === "failed" && why.reason === PREEMPTED.reason;
};

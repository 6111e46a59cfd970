/**
 * Tracks the pods that this node evicts, until nothing of them is left. Their termination is requested in the table
 * `evictions`; their workers terminate them. While an evicted pod holds what it used, no other pod is evicted for a
 * threshold, but not longer than a limit: a pod that hangs must not keep the node short of the resource.
 *
 * The pods are known from their outcomes too, so that a restarted agent waits for the pods that the process before it
 * evicted.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { LatestTable } from "../../concurrency/latest-table.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { EVICTED, EVICTION, IMMEDIATE_GRACE_SECONDS } from "../../domain/eviction/evicted.ts";
import { type EndRequest, EXCEEDED_GRACE_PERIOD, latenessMs } from "../../domain/pod/end-request.ts";
import { hasEnded, type TerminationCause } from "../../domain/pod/pod-lifecycle.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import { type ActivePodsParts, activePods } from "./active-pods.ts";

/** How long an evicted pod may take to be cleaned up, once it is late, before another one is evicted. */
const CLEANUP_MS = 30_000;
/** The kernel updates its statistics of freed memory every two seconds: earlier measurements may evict too many pods. */
const SETTLE_MS = 2000;

export interface EvictedPodsParts extends ActivePodsParts {
  readonly clock: Clock;
  readonly events: EventSink;
  readonly evictions: LatestTable<string, EndRequest>;
}

/** Evictions for limits of a pod's own free nothing that the node waits for. */
export type EvictionCause = "hardThreshold" | "softThreshold" | "ownLimit";

interface Evicted {
  readonly pod: Pod;
  readonly cause: EvictionCause;
  readonly lateMonotonicMs: number;
  isLate: boolean;
}

export class EvictedPods {
  readonly #parts: EvictedPodsParts;
  readonly #evicted = new Map<string, Evicted>();
  /** When the last evicted pod was found to be gone. */
  #lastEndMonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(parts: EvictedPodsParts) {
    this.#parts = parts;
  }

  /** Pods that an eviction may end: admitted, not terminated, and not evicted already. */
  candidates(): readonly Pod[] {
    return activePods(this.#parts).filter(({ metadata }) => !this.#isEvicted(metadata?.uid ?? ""));
  }

  evict(pod: Pod, { reason, message, graceSeconds }: Required<EndRequest>, cause: EvictionCause): void {
    const uid = pod.metadata?.uid ?? "";
    this.#track(uid, pod, graceSeconds, cause);
    this.#parts.evictions.set(uid, { reason, message, graceSeconds });
  }

  /**
   * Reports late pods and forgets finished ones. Returns whether another eviction has to wait: one for a hard threshold
   * does not wait for a pod that has a grace period.
   */
  checkProgress(isHard: boolean): boolean {
    this.#adopt();
    const { clock, events } = this.#parts;
    const nowMs = clock.monotonicMs();
    let waits = false;
    for (const [uid, evicted] of this.#evicted) {
      if (this.#isGone(uid)) {
        this.#evicted.delete(uid);
        if (evicted.cause !== "ownLimit") this.#lastEndMonotonicMs = nowMs;
        continue;
      }
      if (!evicted.isLate && evicted.lateMonotonicMs <= nowMs && !this.#hasEnded(uid)) {
        evicted.isLate = true;
        const { reason, message } = EXCEEDED_GRACE_PERIOD;
        events.emit(podSubject(evicted.pod), "Warning", reason, message);
      }
      const counts = evicted.cause === "hardThreshold" || (evicted.cause === "softThreshold" && !isHard);
      waits ||= counts && nowMs < evicted.lateMonotonicMs + CLEANUP_MS;
    }
    this.#forgetRequests();
    return waits || nowMs - this.#lastEndMonotonicMs < SETTLE_MS;
  }

  /** The time until the next pod is late; infinite if there is none. */
  untilNextLateMs(): number {
    const nowMs = this.#parts.clock.monotonicMs();
    const ending = [...this.#evicted].filter(([uid, { isLate }]) => !isLate && !this.#hasEnded(uid));
    return Math.min(...ending.map(([, { lateMonotonicMs }]) => Math.max(0, lateMonotonicMs - nowMs)));
  }

  #track(uid: string, pod: Pod, graceSeconds: number, cause: EvictionCause): void {
    const lateMonotonicMs = this.#parts.clock.monotonicMs() + latenessMs(graceSeconds);
    this.#evicted.set(uid, { pod, cause, lateMonotonicMs, isLate: false });
  }

  /** Pods that a previous process of the agent evicted. */
  #adopt(): void {
    const { admittedPods, podOutcomes } = this.#parts;
    for (const uid of podOutcomes.keys()) {
      const admitted = admittedPods.get(uid);
      const lifecycle = podOutcomes.get(uid)?.lifecycle;
      if (admitted === undefined || this.#evicted.has(uid) || !isEviction(lifecycle)) continue;
      if (lifecycle.kind === "finished") continue;
      const graceSeconds = lifecycle.kind === "terminating" ? lifecycle.graceSeconds : 0;
      this.#track(uid, admitted.pod, graceSeconds, causeOf(lifecycle.why, graceSeconds));
    }
  }

  #isEvicted(uid: string): boolean {
    return this.#evicted.has(uid) || isEviction(this.#parts.podOutcomes.get(uid)?.lifecycle);
  }

  #hasEnded(uid: string): boolean {
    const lifecycle = this.#parts.podOutcomes.get(uid)?.lifecycle;
    return lifecycle !== undefined && hasEnded(lifecycle);
  }

  #isGone(uid: string): boolean {
    const { admittedPods, podOutcomes } = this.#parts;
    const lifecycle = podOutcomes.get(uid)?.lifecycle;
    return lifecycle === undefined ? admittedPods.get(uid) === undefined : lifecycle.kind === "finished";
  }

  /** No source names the pod any more. */
  #forgetRequests(): void {
    const { evictions, admittedPods } = this.#parts;
    for (const uid of evictions.keys()) if (admittedPods.get(uid) === undefined) evictions.delete(uid);
  }
}

const isEviction = (
  lifecycle: PodOutcome["lifecycle"] | undefined,
): lifecycle is Exclude<PodOutcome["lifecycle"], { readonly kind: "running" }> =>
  lifecycle !== undefined &&
  lifecycle.kind !== "running" &&
  lifecycle.why.kind === "failed" &&
  lifecycle.why.reason === EVICTED;

/** Of an eviction by a previous process. */
function causeOf(why: TerminationCause, graceSeconds: number): EvictionCause {
  if (why.kind !== "failed" || EVICTION.disruption(why.message) === undefined) return "ownLimit";
  return graceSeconds <= IMMEDIATE_GRACE_SECONDS ? "hardThreshold" : "softThreshold";
}

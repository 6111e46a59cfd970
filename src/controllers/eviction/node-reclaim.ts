/**
 * Reclaims what no pod needs before a pod is evicted: requests dead containers, then images, to be removed, one target
 * after the other. Nothing here waits: each call says how far the reclaim is. It is complete once every target has
 * answered and the node was measured after that. A target that does not answer in time counts as answered.
 */
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { ReclaimReport, ReclaimRequests, ReclaimTarget } from "../../domain/eviction/reclaim.ts";
import type { Signal } from "../../domain/node/pressure.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

const ANSWER_MS = 120_000;

export interface NodeReclaimParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly reclaimRequests: LatestCell<ReclaimRequests>;
  readonly imagesReclaimed: Latest<ReclaimReport>;
  readonly containersReclaimed: Latest<ReclaimReport>;
}

interface Progress {
  readonly signal: Signal;
  readonly remaining: readonly ReclaimTarget[];
  readonly request: { readonly target: ReclaimTarget; readonly number: number; readonly sinceMonotonicMs: number };
}

export class NodeReclaim {
  readonly #parts: NodeReclaimParts;
  #progress: Progress | undefined;
  /** The signal whose reclaim is complete, and since when. */
  #complete: { readonly signal: Signal; readonly atMonotonicMs: number } | undefined;

  constructor(parts: NodeReclaimParts) {
    this.#parts = parts;
  }

  /** "underWay": evict nothing yet. `measuredMonotonicMs`: when the signal was last measured. */
  advance(
    signal: Signal,
    targets: readonly ReclaimTarget[],
    measuredMonotonicMs: number,
  ): "underWay" | "complete" | "nothing" {
    if (targets.length === 0) return "nothing";
    const complete = this.#complete;
    if (complete !== undefined && complete.signal === signal)
      return measuredMonotonicMs > complete.atMonotonicMs ? "complete" : "underWay";
    const progress = this.#progress?.signal === signal ? this.#progress : undefined;
    if (progress === undefined) return this.#request(signal, targets);
    if (!this.#isAnswered(progress)) return "underWay";
    if (progress.remaining.length > 0) return this.#request(signal, progress.remaining);
    this.#progress = undefined;
    this.#complete = { signal, atMonotonicMs: this.#parts.clock.monotonicMs() };
    return "underWay";
  }

  /** The next shortage of the same signal reclaims again. */
  reset(): void {
    this.#progress = undefined;
    this.#complete = undefined;
  }

  #request(signal: Signal, [target, ...remaining]: readonly ReclaimTarget[]): "underWay" {
    if (target === undefined) return "underWay";
    const { clock, reclaimRequests } = this.#parts;
    const number = reclaimRequests.value[target] + 1;
    reclaimRequests.set({ ...reclaimRequests.value, [target]: number });
    this.#complete = undefined;
    this.#progress = { signal, remaining, request: { target, number, sinceMonotonicMs: clock.monotonicMs() } };
    return "underWay";
  }

  #isAnswered({ request: { target, number, sinceMonotonicMs } }: Progress): boolean {
    const { clock, log, imagesReclaimed, containersReclaimed } = this.#parts;
    const report = (target === "images" ? imagesReclaimed : containersReclaimed).value;
    if (report.number >= number) {
      if (report.error !== undefined) log.info(0, "Failed to reclaim all unused space", { target, err: report.error });
      return true;
    }
    const isLate = clock.monotonicMs() - sinceMonotonicMs >= ANSWER_MS;
    if (isLate) log.info(0, "Stopped waiting for a reclaim", { target });
    return isLate;
  }
}

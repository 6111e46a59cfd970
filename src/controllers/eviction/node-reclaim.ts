/**
 * Reclaims what no pod needs before a pod is evicted: requests dead containers, then images, to be removed, one target
 * after the other. Nothing here waits. A reclaim is complete once every target has answered and the node was measured
 * after that. A target that does not answer in time counts as answered.
 */
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { ReclaimReport, ReclaimRequests, ReclaimTarget } from "../../domain/eviction/reclaim.ts";
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
  /** All targets of this reclaim, by name: the same for several signals. */
  readonly key: string;
  readonly remaining: readonly ReclaimTarget[];
  readonly request: { readonly target: ReclaimTarget; readonly number: number; readonly sinceMonotonicMs: number };
}

export class NodeReclaim {
  readonly #parts: NodeReclaimParts;
  #progress: Progress | undefined;
  #complete: { readonly key: string; readonly atMonotonicMs: number } | undefined;

  constructor(parts: NodeReclaimParts) {
    this.#parts = parts;
  }

  /** Requests the next target if the one before it has answered. To be called when a report may have changed. */
  advance(): void {
    const progress = this.#progress;
    if (progress === undefined || !this.#isAnswered(progress)) return;
    this.#progress = undefined;
    if (progress.remaining.length > 0) this.#request(progress.key, progress.remaining);
    else this.#complete = { key: progress.key, atMonotonicMs: this.#parts.clock.monotonicMs() };
  }

  /**
   * Whether everything was reclaimed, and the signal was measured again since then. Begins to, if not. Without targets
   * there is nothing to wait for.
   */
  isComplete(targets: readonly ReclaimTarget[], measuredMonotonicMs: number): boolean {
    if (targets.length === 0) return true;
    const key = targets.join();
    if (this.#complete?.key === key) return measuredMonotonicMs >= this.#complete.atMonotonicMs;
    if (this.#progress?.key !== key) this.#request(key, targets);
    return false;
  }

  /** The next shortage reclaims again. */
  reset(): void {
    this.#progress = undefined;
    this.#complete = undefined;
  }

  #request(key: string, [target, ...remaining]: readonly ReclaimTarget[]): void {
    if (target === undefined) return;
    const { clock, reclaimRequests } = this.#parts;
    const number = reclaimRequests.value[target] + 1;
    this.#complete = undefined;
    this.#progress = { key, remaining, request: { target, number, sinceMonotonicMs: clock.monotonicMs() } };
    reclaimRequests.set({ ...reclaimRequests.value, [target]: number });
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

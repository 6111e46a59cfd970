/**
 * Sends access reviews to the API server. Identical concurrent reviews are sent once, an answer is cached for its
 * `keepMs`, and at most `atOnceMax` reviews run at a time. A review without an answer in time is an error, never a
 * decision.
 */
import { RecentMap } from "../base/recent-map.ts";
import { raceAbort } from "../concurrency/abort.ts";
import { DeadlineError, withDeadline } from "../concurrency/deadline.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import { SingleFlightGroup } from "../concurrency/single-flight-group.ts";
import type { Clock } from "../ports/clock.ts";

export interface ReviewLimits {
  readonly entriesMax: number;
  readonly atOnceMax: number;
  /** Reviews that wait for their turn; further ones are rejected. */
  readonly waitingMax: number;
  readonly answerMsMax: number;
}

const REVIEW_LIMITS: ReviewLimits = {
  entriesMax: 4096,
  atOnceMax: 50,
  waitingMax: 500,
  answerMsMax: 10_000,
};

/** No answer for lack of time or capacity: try again later. */
export class TooBusy extends Error {
  override readonly name = "TooBusy";
}

export interface Answer<A> {
  readonly answer: A;
  readonly keepMs: number;
}

export class AccessReviewCache<A> {
  readonly #clock: Clock;
  readonly #limits: ReviewLimits;
  readonly #shutdown: AbortSignal;
  readonly #semaphore: Semaphore;
  readonly #kept: RecentMap<string, { readonly answer: A; readonly untilMs: number }>;
  readonly #reviews = new SingleFlightGroup<string, A>();

  constructor(clock: Clock, shutdown: AbortSignal, limits: ReviewLimits = REVIEW_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
    this.#shutdown = shutdown;
    this.#semaphore = new Semaphore(clock, { max: limits.atOnceMax, maxHoldMs: limits.answerMsMax });
    this.#kept = new RecentMap(limits.entriesMax);
  }

  /** Calls `put` if no answer is cached. A caller that aborts does not abort the review for the others. */
  ask(key: string, put: (signal: AbortSignal) => Promise<Answer<A>>, signal: AbortSignal): Promise<A> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#clock.monotonicMs() < kept.untilMs) return Promise.resolve(kept.answer);
    return raceAbort(
      this.#reviews.join(key, () => this.#review(key, put)),
      signal,
    );
  }

  async #review(key: string, put: (signal: AbortSignal) => Promise<Answer<A>>): Promise<A> {
    const { atOnceMax, waitingMax } = this.#limits;
    if (this.#reviews.size >= atOnceMax + waitingMax) {
      throw new TooBusy("too many access reviews are waiting");
    }
    const { answer, keepMs } = await this.#answered(put);
    if (keepMs > 0) this.#kept.set(key, { answer, untilMs: this.#clock.monotonicMs() + keepMs });
    return answer;
  }

  async #answered(put: (signal: AbortSignal) => Promise<Answer<A>>): Promise<Answer<A>> {
    try {
      return await withDeadline(this.#clock, this.#limits.answerMsMax, this.#shutdown, async (signal) => {
        using permit = this.#semaphore.permit();
        await permit.acquire(signal);
        return await raceAbort(put(signal), signal);
      });
    } catch (error) {
      if (error instanceof DeadlineError)
        throw new TooBusy(`no answer to an access review: ${error.message}`, { cause: error });
      throw error;
    }
  }
}

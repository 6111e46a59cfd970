/**
 * Where questions about access are put to the API server: the same question asked twice at once is asked once, an answer is kept for as long
 * as it says, and so many are on their way at a time. A question that finds no answer in time is an error, never an answer.
 */
import { RecentMap } from "../base/recent-map.ts";
import { DeadlineError, withDeadline } from "../concurrency/deadline.ts";
import { Turnstile } from "../concurrency/turnstile.ts";
import { unlessAborted } from "../concurrency/unless-aborted.ts";
import type { Clock } from "../ports/clock.ts";

export interface ReviewLimits {
  readonly entriesMax: number;
  readonly atOnceMax: number;
  /** Those that wait for their turn; more are turned away. */
  readonly waitingMax: number;
  readonly answerMsMax: number;
}

const REVIEW_LIMITS: ReviewLimits = {
  entriesMax: 4096,
  atOnceMax: 50,
  waitingMax: 500,
  answerMsMax: 10_000,
};

/** No answer, for lack of time or of room: to be asked again later. */
export class TooBusy extends Error {
  override readonly name = "TooBusy";
}

export interface Answer<A> {
  readonly answer: A;
  readonly keepMs: number;
}

export class ReviewDesk<A> {
  readonly #clock: Clock;
  readonly #limits: ReviewLimits;
  readonly #shutdown: AbortSignal;
  readonly #turnstile: Turnstile;
  readonly #kept: RecentMap<string, { readonly answer: A; readonly untilMs: number }>;
  readonly #underWay = new Map<string, Promise<A>>();

  constructor(clock: Clock, shutdown: AbortSignal, limits: ReviewLimits = REVIEW_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
    this.#shutdown = shutdown;
    this.#turnstile = new Turnstile(clock, { most: limits.atOnceMax, patienceMs: limits.answerMsMax });
    this.#kept = new RecentMap(limits.entriesMax);
  }

  /** `put` is called when nobody has the answer. Who leaves early does not take it away from the others. */
  ask(key: string, put: (signal: AbortSignal) => Promise<Answer<A>>, signal: AbortSignal): Promise<A> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#clock.monotonicMs() < kept.untilMs) return Promise.resolve(kept.answer);
    const underWay = this.#underWay.get(key) ?? this.#put(key, put);
    return unlessAborted(underWay, signal);
  }

  #put(key: string, put: (signal: AbortSignal) => Promise<Answer<A>>): Promise<A> {
    const { atOnceMax, waitingMax } = this.#limits;
    if (this.#underWay.size >= atOnceMax + waitingMax) {
      return Promise.reject(new TooBusy("too many questions about access are waiting for an answer"));
    }
    const asked = this.#answered(put).then(
      ({ answer, keepMs }) => {
        this.#underWay.delete(key);
        if (keepMs > 0) this.#kept.set(key, { answer, untilMs: this.#clock.monotonicMs() + keepMs });
        return answer;
      },
      (error: unknown) => {
        this.#underWay.delete(key);
        throw error;
      },
    );
    this.#underWay.set(key, asked);
    return asked;
  }

  async #answered(put: (signal: AbortSignal) => Promise<Answer<A>>): Promise<Answer<A>> {
    try {
      return await withDeadline(this.#clock, this.#limits.answerMsMax, this.#shutdown, async (signal) => {
        using pass = this.#turnstile.pass();
        await pass.enter(signal);
        return await unlessAborted(put(signal), signal);
      });
    } catch (error) {
      if (error instanceof DeadlineError)
        throw new TooBusy(`no answer about access: ${error.message}`, { cause: error });
      throw error;
    }
  }
}

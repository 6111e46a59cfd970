/**
 * A rate limit: `burst` tokens at once, then `perSecond` tokens per second. Callers are served in order; a caller that
 * aborts takes no token and leaves nothing behind.
 */
import type { Clock } from "../ports/clock.ts";

export interface TokenBucketLimits {
  readonly perSecond: number;
  readonly burst: number;
}

export class TokenBucket {
  readonly #clock: Clock;
  readonly #limits: TokenBucketLimits;
  readonly #queue = new Set<() => void>();
  #tokens: number;
  #countedAtMs: number;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, limits: TokenBucketLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#countedAtMs = clock.monotonicMs();
  }

  /** Takes a token if one is available and nobody waits. */
  tryTake(): boolean {
    this.#refill();
    if (this.#queue.size > 0 || this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Resolves when the caller gets a token; rejects with the signal's reason. */
  take(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.tryTake()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#queue.delete(grant);
        this.#serve();
        reject(signal.reason);
      };
      const grant = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#queue.add(grant);
      this.#serve();
    });
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs();
    const earned = ((nowMs - this.#countedAtMs) * this.#limits.perSecond) / 1000;
    this.#tokens = Math.min(this.#tokens + earned, this.#limits.burst);
    this.#countedAtMs = nowMs;
  }

  /** Grants all available tokens. Keeps one timer for the next token, and none when nobody waits. */
  #serve(): void {
    this.#refill();
    for (const grant of this.#queue) {
      // Tolerates rounding: a timer that fires slightly early must not be set again for nothing.
      if (this.#tokens < 1 - 1e-6) break;
      this.#tokens -= 1;
      this.#queue.delete(grant);
      grant();
    }
    if (this.#queue.size === 0) {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
      return;
    }
    if (this.#cancelTimer !== undefined) return;
    const waitMs = ((1 - this.#tokens) * 1000) / this.#limits.perSecond;
    this.#cancelTimer = this.#clock.after(waitMs, () => {
      this.#cancelTimer = undefined;
      this.#serve();
    });
  }
}

/**
 * Monotonic time that excludes periods in which this process was suspended, stopped or starved. The lateness of timers
 * measures these periods. For ages that must not grow while nothing could be observed.
 */
import type { Clock } from "../ports/clock.ts";
import { sleep } from "./sleep.ts";

/** Shorter delays are normal on a busy machine. */
const LATE_MS_MIN = 1_000;

export class UnsuspendedClock {
  readonly #clock: Clock;
  #lostMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.monotonicMs() - this.#lostMs;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    const dueMs = this.#clock.monotonicMs() + ms;
    await sleep(this.#clock, ms, signal);
    this.#rang(dueMs);
  }

  /** Calls `ring` repeatedly until it is cancelled. */
  every(ms: number, ring: () => void): () => void {
    const dueMs = this.#clock.monotonicMs() + ms;
    let cancel = this.#clock.after(ms, () => {
      this.#rang(dueMs);
      ring();
      cancel = this.every(ms, ring);
    });
    return () => cancel();
  }

  #rang(dueMs: number): void {
    const lateMs = this.#clock.monotonicMs() - dueMs;
    if (lateMs >= LATE_MS_MIN) this.#lostMs += lateMs;
  }
}

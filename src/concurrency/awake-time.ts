/**
 * Monotonic time without what this process slept through, stopped or starved: an alarm that rings late says how much was lost. For
 * ages that must not grow while nobody could look.
 */
import type { Clock } from "../ports/clock.ts";
import { sleep } from "./sleep.ts";

/** Less is the machine being busy. */
const LATE_MS_MIN = 1_000;

export class AwakeTime {
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

  /** Rings again and again until it is cancelled. */
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

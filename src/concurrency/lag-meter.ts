/**
 * Measures how long this process was stalled while a caller waited for an answer: stopped, starved, or busy with one
 * task. It measures the lateness of a timer, which runs only while someone measures.
 */
import type { Clock } from "../ports/clock.ts";

const STEP_MS = 50;
/** Shorter delays are normal on a busy machine. */
const LATE_MS_MIN = 20;

export interface LagWatch extends Disposable {
  /** Time lost since `begin`. */
  lostMs(): number;
}

export class LagMeter {
  readonly #clock: Clock;
  #watches = 0;
  #lostMs = 0;
  #dueMs = 0;
  #cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): LagWatch {
    if (this.#watches === 0) this.#next();
    this.#watches += 1;
    const beforeMs = this.#totalMs();
    let isOpen = true;
    return {
      lostMs: () => this.#totalMs() - beforeMs,
      [Symbol.dispose]: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#watches -= 1;
        if (this.#watches === 0) this.#cancel();
      },
    };
  }

  /** Includes the lateness of the timer that has not fired yet. */
  #totalMs(): number {
    return this.#lostMs + lateness(this.#clock.monotonicMs() - this.#dueMs);
  }

  #next(): void {
    this.#dueMs = this.#clock.monotonicMs() + STEP_MS;
    this.#cancel = this.#clock.after(STEP_MS, () => {
      this.#lostMs += lateness(this.#clock.monotonicMs() - this.#dueMs);
      this.#next();
    });
  }
}

const lateness = (lateMs: number): number => (lateMs < LATE_MS_MIN ? 0 : lateMs);

/**
 * How long this process was held up while somebody waited for an answer: stopped, starved, or busy with one thing. Measured by an alarm
 * that rings late; it rings only while somebody measures.
 */
import type { Clock } from "../ports/clock.ts";

const STEP_MS = 50;
/** Less is the machine being busy. */
const LATE_MS_MIN = 20;

export interface LagWatch extends Disposable {
  /** Since it was begun. */
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

  /** Also what an alarm that has not come yet is late by. */
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

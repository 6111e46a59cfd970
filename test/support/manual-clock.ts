/** A clock for unit tests: it advances only when the test moves it, and lets promises run between two timers. */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/ports/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<Timer>();

  get timersPending(): number {
    return this.#timers.size;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, fire: () => void): () => void {
    const timer = { dueMs: this.#nowMs + (delayMs > 0 ? delayMs : 0), fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      await setImmediate();
      const next = [...this.#timers].filter((timer) => timer.dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#nowMs = next.dueMs;
      next.fire();
    }
    this.#nowMs = untilMs;
  }

  /** Simulates a process that was stopped: time has passed, and timers that became due fire late. */
  async stall(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const timer of [...this.#timers].filter((timer) => timer.dueMs <= this.#nowMs)) {
      if (this.#timers.delete(timer)) timer.fire();
    }
    await setImmediate();
  }
}

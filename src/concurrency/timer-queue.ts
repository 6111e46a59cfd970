/**
 * One timer per key: the earliest one requested. A closed queue sets no timers, because a leftover timer keeps the
 * process alive.
 */
import type { Clock } from "../ports/clock.ts";

export class TimerQueue<K> {
  readonly #clock: Clock;
  readonly #fire: (key: K) => void;
  readonly #wakeups = new Map<K, { readonly dueMonotonicMs: number; readonly cancel: () => void }>();

  #isClosed = false;

  constructor(clock: Clock, fire: (key: K) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  /** Keeps an earlier timer that is already set. */
  wakeIn(key: K, delayMs: number): void {
    if (this.#isClosed) return;
    const dueMonotonicMs = this.#clock.monotonicMs() + delayMs;
    const set = this.#wakeups.get(key);
    if (set !== undefined && set.dueMonotonicMs <= dueMonotonicMs) return;
    set?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#wakeups.delete(key);
      this.#fire(key);
    });
    this.#wakeups.set(key, { dueMonotonicMs, cancel });
  }

  cancel(key: K): void {
    this.#wakeups.get(key)?.cancel();
    this.#wakeups.delete(key);
  }

  close(): void {
    this.#isClosed = true;
    for (const { cancel } of this.#wakeups.values()) cancel();
    this.#wakeups.clear();
  }
}

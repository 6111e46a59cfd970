/**
 * Due times for thousands of keys on a single timer. Due times are rounded up to steps, so that keys due close together
 * share one wakeup of the process. Wakeups are the main cost of many small tasks.
 */
import { type Timed, TimeHeap } from "../base/time-heap.ts";
import type { Clock } from "../ports/clock.ts";

export const STEP_MS = 50;

interface Entry<K> extends Timed {
  readonly key: K;
}

export class DueQueue<K> {
  readonly #clock: Clock;
  readonly #fire: (key: K) => void;
  readonly #due = new Map<K, Entry<K>>();
  readonly #heap = new TimeHeap<Entry<K>>();
  #orders = 0;
  #wakeup: { readonly atMs: number; readonly cancel: () => void } | undefined;

  constructor(clock: Clock, fire: (key: K) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  get size(): number {
    return this.#due.size;
  }

  /** `dueMs` is monotonic. Replaces the key's previous due time. */
  set(key: K, dueMs: number): void {
    this.cancel(key);
    const entry = { key, atMs: Math.ceil(dueMs / STEP_MS) * STEP_MS, order: this.#orders };
    this.#orders += 1;
    this.#due.set(key, entry);
    this.#heap.add(entry);
    this.#arm();
  }

  cancel(key: K): void {
    const entry = this.#due.get(key);
    if (entry === undefined) return;
    this.#due.delete(key);
    this.#heap.cancel(entry);
  }

  close(): void {
    this.#wakeup?.cancel();
    this.#wakeup = undefined;
    this.#due.clear();
    this.#heap.clear();
  }

  #arm(): void {
    const next = this.#heap.first();
    if (next === undefined || (this.#wakeup !== undefined && this.#wakeup.atMs <= next.atMs)) return;
    this.#wakeup?.cancel();
    const cancel = this.#clock.after(next.atMs - this.#clock.monotonicMs(), () => this.#ring());
    this.#wakeup = { atMs: next.atMs, cancel };
  }

  #ring(): void {
    this.#wakeup = undefined;
    const nowMs = this.#clock.monotonicMs();
    const due: K[] = [];
    for (let next = this.#heap.takeDue(nowMs); next !== undefined; next = this.#heap.takeDue(nowMs)) {
      this.#due.delete(next.key);
      due.push(next.key);
    }
    for (const key of due) this.#fire(key);
    this.#arm();
  }
}

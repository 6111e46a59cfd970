/** Timers by time, then by the order they were set. Taking the earliest costs the logarithm of their number. */
export interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly fire: () => void;
}

const before = (a: Timer, b: Timer): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

export class TimerHeap {
  readonly #timers: Timer[] = [];
  /** Removing from the middle of a heap means searching it, so a cancelled timer stays until it comes up or too many wait. */
  readonly #cancelled = new Set<Timer>();

  get size(): number {
    return this.#timers.length - this.#cancelled.size;
  }

  add(timer: Timer): void {
    this.#timers.push(timer);
    this.#up(this.#timers.length - 1);
  }

  /** Only for a timer that is in the heap: one that was taken or cancelled before must not come here. */
  cancel(timer: Timer): void {
    this.#cancelled.add(timer);
    if (this.#cancelled.size * 2 > this.#timers.length) this.#sweep();
  }

  /** Takes the earliest timer that is due at `untilMs`. */
  takeDue(untilMs: number): Timer | undefined {
    for (;;) {
      const first = this.#timers[0];
      if (first === undefined || first.atMs > untilMs) return undefined;
      this.#takeFirst();
      if (!this.#cancelled.delete(first)) return first;
    }
  }

  #takeFirst(): void {
    const last = this.#timers.pop();
    if (last === undefined || this.#timers.length === 0) return;
    this.#timers[0] = last;
    this.#down(0);
  }

  #sweep(): void {
    const kept = this.#timers.filter((timer) => !this.#cancelled.has(timer));
    this.#cancelled.clear();
    this.#timers.length = 0;
    // A sorted array is a heap.
    for (const timer of kept.toSorted((a, b) => (before(a, b) ? -1 : 1))) this.#timers.push(timer);
  }

  #up(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  #down(start: number): void {
    let index = start;
    for (;;) {
      const left = 2 * index + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfBefore(child, index)) return;
      index = child;
    }
  }

  #isBefore(index: number, other: number): boolean {
    const a = this.#timers[index];
    const b = this.#timers[other];
    return a !== undefined && b !== undefined && before(a, b);
  }

  #swapIfBefore(index: number, other: number): boolean {
    const a = this.#timers[index];
    const b = this.#timers[other];
    if (a === undefined || b === undefined || !before(a, b)) return false;
    this.#timers[other] = a;
    this.#timers[index] = b;
    return true;
  }
}

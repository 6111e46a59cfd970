/** A heap ordered by time, then by creation order. Taking the earliest item costs O(log n). */
export interface Timed {
  readonly atMs: number;
  readonly order: number;
}

const isBefore = (a: Timed, b: Timed): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

export class TimeHeap<T extends Timed> {
  readonly #items: T[] = [];
  /**
   * Removing an item from the middle would need a search. A cancelled item stays until it reaches the top or until more
   * than half the items are cancelled.
   */
  readonly #cancelled = new Set<T>();

  get size(): number {
    return this.#items.length - this.#cancelled.size;
  }

  add(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent];
      if (above === undefined || !isBefore(item, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  /** `item` must be in the heap: neither taken nor cancelled before. */
  cancel(item: T): void {
    this.#cancelled.add(item);
    if (this.#cancelled.size * 2 > this.#items.length) this.#sweep();
  }

  /** Returns the earliest item without removing it. */
  first(): T | undefined {
    for (;;) {
      const first = this.#items[0];
      if (first === undefined || !this.#cancelled.delete(first)) return first;
      this.#dropFirst();
    }
  }

  /** Removes and returns the earliest item that is due at `untilMs`. */
  takeDue(untilMs: number): T | undefined {
    const first = this.first();
    if (first === undefined || first.atMs > untilMs) return undefined;
    this.#dropFirst();
    return first;
  }

  clear(): void {
    this.#items.length = 0;
    this.#cancelled.clear();
  }

  #dropFirst(): void {
    const items = this.#items;
    const last = items.pop();
    if (last === undefined || items.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const one = items[left];
      const other = items[left + 1];
      const isOther = one !== undefined && other !== undefined && isBefore(other, one);
      const below = isOther ? other : one;
      if (below === undefined || !isBefore(below, last)) break;
      items[at] = below;
      at = isOther ? left + 1 : left;
    }
    items[at] = last;
  }

  #sweep(): void {
    const kept = this.#items.filter((item) => !this.#cancelled.has(item));
    this.clear();
    // A sorted array is a heap.
    for (const item of kept.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))) this.#items.push(item);
  }
}

/**
 * Holds the newest value of one loop for others to read. Level-triggered: a slow reader may miss values but never the
 * last one. Each cell has exactly one writer: `app/compose.ts` passes the writing side to it and the reading side to
 * everyone else.
 */
export interface Latest<T> {
  readonly value: T;
  /** Counts writes, so that a reader can tell whether it has seen the newest value. */
  readonly version: number;
  /** Resolves with the version once it exceeds `seen`, at once if it already does. Rejects when the signal aborts. */
  changed(seen: number, signal: AbortSignal): Promise<number>;
}

export class LatestCell<T> implements Latest<T> {
  #value: T;
  #version = 0;
  readonly #waiters = new Set<() => void>();

  constructor(initial: T) {
    this.#value = initial;
  }

  get value(): T {
    return this.#value;
  }

  get version(): number {
    return this.#version;
  }

  set(value: T): void {
    this.#value = value;
    this.#version += 1;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  changed(seen: number, signal: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      if (this.#version > seen) {
        resolve(this.#version);
        return;
      }
      const onAbort = () => {
        this.#waiters.delete(wake);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve(this.#version);
      };
      this.#waiters.add(wake);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

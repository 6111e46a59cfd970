/**
 * A place where one loop leaves its newest value and others find it. Level, not edge: a reader that is busy misses values, never
 * the last one. Exactly one writer per cell; `app/compose.ts` hands the writing side to it and the reading side to the rest.
 */
export interface Latest<T> {
  readonly value: T;
  /** Counts the writes, so that a reader can tell whether it has seen the newest. */
  readonly version: number;
  /** Resolves with the version once it is above `seen`: at once if it already is. Rejects when the signal aborts. */
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

/** Runs work on the same key one piece at a time, in request order. A failed piece does not stop the next one. */
export class KeyedLock<K> {
  /** By key: resolves when its last piece of work has ended. */
  readonly #ends = new Map<K, Promise<void>>();

  async withLock<T>(key: K, work: () => Promise<T>): Promise<T> {
    const result = (this.#ends.get(key) ?? Promise.resolve()).then(work);
    // The failure goes to the caller of this piece; the next piece only waits for the end.
    const end = result.then(
      () => {},
      () => {},
    );
    this.#ends.set(key, end);
    try {
      return await result;
    } finally {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    }
  }

  /** The number of keys with running work. */
  get size(): number {
    return this.#ends.size;
  }
}

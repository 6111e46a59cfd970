/** Work on one key runs one piece after the other, in the order in which it was requested and however the earlier pieces ended. */
export class KeyedTurns<K> {
  /** By key, the end of its last piece of work. */
  readonly #ends = new Map<K, Promise<void>>();

  async take<T>(key: K, work: () => Promise<T>): Promise<T> {
    const turn = (this.#ends.get(key) ?? Promise.resolve()).then(work);
    // Its own caller gets the failure; the next in line only waits for the end.
    const end = turn.then(
      () => {},
      () => {},
    );
    this.#ends.set(key, end);
    try {
      return await turn;
    } finally {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    }
  }

  /** Keys with work under way. */
  get size(): number {
    return this.#ends.size;
  }
}

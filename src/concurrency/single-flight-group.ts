/**
 * At most one run per key at a time. Callers that join during a run share its result or error; a later caller starts
 * another run.
 */
export class SingleFlightGroup<K, T> {
  readonly #running = new Map<K, Promise<T>>();

  join(key: K, run: () => Promise<T>): Promise<T> {
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const own = run().finally(() => this.#running.delete(key));
    this.#running.set(key, own);
    return own;
  }

  get size(): number {
    return this.#running.size;
  }
}

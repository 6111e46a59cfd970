/**
 * One cell per key, with one writer: a loop stores the newest value of each pod for others to read. As with
 * `LatestCell`, a reader may miss values but never the last one. A watcher gets only the key, synchronously, and must
 * do no more than record it.
 */
export interface ReadonlyTable<K, V> {
  get(key: K): V | undefined;
  keys(): readonly K[];
  readonly size: number;
  /** The returned function stops the watch. */
  watch(changed: (key: K) => void): () => void;
}

export class LatestTable<K, V> implements ReadonlyTable<K, V> {
  readonly #values = new Map<K, V>();
  readonly #watchers = new Set<(key: K) => void>();

  get(key: K): V | undefined {
    return this.#values.get(key);
  }

  keys(): readonly K[] {
    return [...this.#values.keys()];
  }

  get size(): number {
    return this.#values.size;
  }

  set(key: K, value: V): void {
    this.#values.set(key, value);
    this.#tell(key);
  }

  delete(key: K): void {
    if (this.#values.delete(key)) this.#tell(key);
  }

  watch(changed: (key: K) => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #tell(key: K): void {
    for (const changed of this.#watchers) changed(key);
  }
}

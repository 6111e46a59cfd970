/** Several tables read as one. The value of a key is folded from all tables that contain it, in table order. */
import type { ReadonlyTable } from "./latest-table.ts";

export class JoinedTable<K, V> implements ReadonlyTable<K, V> {
  readonly #tables: readonly ReadonlyTable<K, V>[];
  readonly #fold: (first: V, next: V) => V;

  constructor(tables: readonly ReadonlyTable<K, V>[], fold: (first: V, next: V) => V) {
    this.#tables = tables;
    this.#fold = fold;
  }

  get(key: K): V | undefined {
    const values = this.#tables.flatMap((table) => {
      const value = table.get(key);
      return value === undefined ? [] : [value];
    });
    const [first, ...rest] = values;
    return first === undefined ? undefined : rest.reduce(this.#fold, first);
  }

  keys(): readonly K[] {
    return [...new Set(this.#tables.flatMap((table) => table.keys()))];
  }

  get size(): number {
    return this.keys().length;
  }

  watch(changed: (key: K) => void): () => void {
    const ends = this.#tables.map((table) => table.watch(changed));
    return () => {
      for (const end of ends) end();
    };
  }
}

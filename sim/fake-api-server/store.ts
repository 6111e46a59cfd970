/**
 * The objects of the fake API server, their resource versions, and their changes. One counter gives every write its
 * version, as in etcd. Changes are kept for a while, so that watches can resume from an earlier version.
 */
import type { Kind } from "./kinds.ts";
import { frozen, keyOfStored, type Stored } from "./stored.ts";

export interface Change {
  readonly version: number;
  /** The stored object; for "deleted", its last state with the version of the deletion. */
  readonly object: Stored;
  readonly kind: "added" | "modified" | "deleted";
  readonly before: Stored | undefined;
}

const CHANGES_KEPT_MAX = 2000;

interface Collection {
  readonly objects: Map<string, Stored>;
  changes: Change[];
  /** Changes up to this version are no longer available. */
  forgotten: number;
}

export class Store {
  readonly #collections = new Map<string, Collection>();
  readonly #onChange: (kind: Kind, change: Change) => void;
  #version = 1;

  constructor(onChange: (kind: Kind, change: Change) => void) {
    this.#onChange = onChange;
  }

  get version(): number {
    return this.#version;
  }

  get(kind: Kind, key: string): Stored | undefined {
    return this.#collections.get(kind.key)?.objects.get(key);
  }

  /** The objects that fit, sorted by namespace and name. */
  all(kind: Kind, fits: (object: Stored) => boolean): readonly Stored[] {
    const found: (readonly [string, Stored])[] = [];
    for (const entry of this.#collections.get(kind.key)?.objects ?? []) if (fits(entry[1])) found.push(entry);
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** The objects in creation order, for callers that only count or search. */
  values(kind: Kind): Iterable<Stored> {
    return this.#collections.get(kind.key)?.objects.values() ?? [];
  }

  /** Stores the object as the newest version of itself. */
  put(kind: Kind, object: Stored): Stored {
    const collection = this.#collection(kind);
    const key = keyOfStored(object);
    const before = collection.objects.get(key);
    const stored = this.#stamped(object);
    collection.objects.set(key, stored);
    this.#changed(kind, collection, { kind: before === undefined ? "added" : "modified", object: stored, before });
    return stored;
  }

  remove(kind: Kind, object: Stored): Stored {
    const collection = this.#collection(kind);
    const key = keyOfStored(object);
    const before = collection.objects.get(key);
    collection.objects.delete(key);
    const last = this.#stamped(object);
    this.#changed(kind, collection, { kind: "deleted", object: last, before });
    return last;
  }

  /** The changes after `version`; undefined when they are no longer available. */
  changesAfter(kind: Kind, version: number): readonly Change[] | undefined {
    const collection = this.#collection(kind);
    if (version < collection.forgotten) return undefined;
    return collection.changes.filter((change) => change.version > version);
  }

  forgetChanges(): void {
    for (const collection of this.#collections.values()) {
      collection.changes = [];
      collection.forgotten = this.#version;
    }
  }

  #stamped(object: Stored): Stored {
    this.#version += 1;
    return frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } });
  }

  #changed(kind: Kind, collection: Collection, change: Omit<Change, "version">): void {
    const whole = { ...change, version: this.#version };
    collection.changes.push(whole);
    if (collection.changes.length > 2 * CHANGES_KEPT_MAX) {
      const gone = collection.changes.splice(0, collection.changes.length - CHANGES_KEPT_MAX);
      collection.forgotten = gone.at(-1)?.version ?? collection.forgotten;
    }
    this.#onChange(kind, whole);
  }

  #collection(kind: Kind): Collection {
    const found = this.#collections.get(kind.key);
    if (found !== undefined) return found;
    const fresh = { objects: new Map<string, Stored>(), changes: [], forgotten: 0 };
    this.#collections.set(kind.key, fresh);
    return fresh;
  }
}

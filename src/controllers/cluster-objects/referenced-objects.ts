/**
 * Keeps every object that an admitted pod references. An object is requested from the admission of its first pod until
 * no admitted pod references it.
 *
 * The entry in `referencedObjects` is set to "unknown" in the step that observes the admission: no reader finds a pod
 * whose objects are not being requested. ConfigMaps and Secrets are watched one by one. PersistentVolumeClaims and
 * their PersistentVolumes are fetched, because a node may not watch them. Unreferenced objects are removed completely.
 */
import type { PersistentVolumeClaim } from "../../api/gen/core-v1.ts";
import { configMaps, persistentVolumeClaims, persistentVolumes, secrets } from "../../api/resources.ts";
import { assertNever } from "../../base/assert.ts";
import { type LinkedSignal, linkSignals, raceAbort, unlessShutDown } from "../../concurrency/abort.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import {
  type KnownObject,
  type ObjectReference,
  objectKey,
  referencesOf,
} from "../../domain/cluster-objects/references.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { boundVolumeName, isClaimed } from "../../domain/volumes/claims.ts";
import type { ApiObject, ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { fetchUntilSettled } from "./fetched-object.ts";
import { watchObject } from "./watched-object.ts";

export interface ReferencedObjectsParts {
  /** Undefined on a node without an API server: there no referenced object exists. */
  readonly api: Pick<ApiServer, "get" | "list" | "watch"> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly referencedObjects: LatestTable<string, KnownObject<ApiObject>>;
}

export async function runReferencedObjects(parts: ReferencedObjectsParts, shutdown: AbortSignal): Promise<void> {
  const { admittedPods } = parts;
  const tracker = new ReferenceTracker(parts, shutdown);
  const unwatch = admittedPods.watch((uid) => tracker.update(uid));
  try {
    await unlessShutDown(shutdown, async () => {
      for (const uid of admittedPods.keys()) tracker.update(uid);
      await raceAbort(tracker.failed, shutdown);
    });
  } finally {
    unwatch();
    await tracker.close();
  }
}

interface Entry {
  /** UIDs of pods; for a PersistentVolume the key of its claim. */
  readonly referrers: Set<string>;
  readonly request: LinkedSignal;
}

class ReferenceTracker {
  /** Never resolves; rejects when fetching or watching an object fails unexpectedly. */
  readonly failed: Promise<never>;
  readonly #parts: ReferencedObjectsParts;
  readonly #shutdown: AbortSignal;
  readonly #entries = new Map<string, Entry>();
  /** The keys that each pod referenced at its last inspection. */
  readonly #referenced = new Map<string, ReadonlySet<string>>();
  readonly #running = new Set<Promise<void>>();
  readonly #fail: (error: unknown) => void;

  constructor(parts: ReferencedObjectsParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.#fail = reject;
  }

  /** A rejected pod references nothing: none of its containers will run. */
  update(uid: string): void {
    const admitted = this.#parts.admittedPods.get(uid);
    const references = admitted?.verdict.kind === "admitted" ? referencesOf(admitted.pod) : [];
    const before = this.#referenced.get(uid) ?? new Set();
    const now = new Set(references.map(({ kind, namespace, name }) => objectKey(kind, namespace, name)));
    for (const reference of references) this.#add(reference, uid);
    for (const key of before) if (!now.has(key)) this.#release(key, uid);
    if (now.size === 0) this.#referenced.delete(uid);
    else this.#referenced.set(uid, now);
  }

  async close(): Promise<void> {
    for (const { request } of this.#entries.values()) request.abort(new Error("the loop ends"));
    await Promise.all(this.#running);
  }

  #add(reference: ObjectReference, referrer: string): void {
    const key = objectKey(reference.kind, reference.namespace, reference.name);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.referrers.add(referrer);
      return;
    }
    const { api, referencedObjects } = this.#parts;
    const request = linkSignals(...(api === undefined ? [] : [this.#shutdown]));
    const entry: Entry = { referrers: new Set([referrer]), request };
    this.#entries.set(key, entry);
    if (api === undefined) {
      referencedObjects.set(key, { kind: "missing" });
      return;
    }
    referencedObjects.set(key, { kind: "unknown", trouble: undefined });
    const ended = this.#observe(
      reference,
      { ...this.#parts, api },
      (object) => this.#publish(key, entry, object),
      entry,
    )
      .catch(this.#fail)
      .finally(() => {
        entry.request[Symbol.dispose]();
        this.#running.delete(ended);
      });
    this.#running.add(ended);
  }

  async #observe(
    { kind, namespace, name }: ObjectReference,
    parts: ReferencedObjectsParts & { readonly api: NonNullable<ReferencedObjectsParts["api"]> },
    publish: (known: KnownObject<ApiObject>) => void,
    { request: { signal } }: Entry,
  ): Promise<void> {
    switch (kind) {
      case "ConfigMap":
        return watchObject(configMaps, { namespace, name }, parts, publish, signal);
      case "Secret":
        return watchObject(secrets, { namespace, name }, parts, publish, signal);
      case "PersistentVolumeClaim": {
        const isSettled = (claim: PersistentVolumeClaim) => boundVolumeName(claim) !== undefined;
        const wanted = { resource: persistentVolumeClaims, name: { namespace, name }, isSettled };
        return fetchUntilSettled(
          wanted,
          parts,
          (known) => {
            publish(known);
            const volume = known.kind === "present" ? boundVolumeName(known.object) : undefined;
            if (volume !== undefined) this.#followClaim(objectKey(kind, namespace, name), volume);
          },
          signal,
        );
      }
      case "PersistentVolume":
        return fetchUntilSettled(
          { resource: persistentVolumes, name: { name }, isSettled: isClaimed },
          parts,
          publish,
          signal,
        );
      default:
        return assertNever(kind);
    }
  }

  /** A PersistentVolume is referenced by its claim and released with it. */
  #followClaim(claimKey: string, volume: string): void {
    if (!this.#entries.has(claimKey)) return;
    this.#add({ kind: "PersistentVolume", namespace: "", name: volume }, claimKey);
    this.#referenced.set(claimKey, new Set([objectKey("PersistentVolume", "", volume)]));
  }

  #release(key: string, referrer: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || !entry.referrers.delete(referrer) || entry.referrers.size > 0) return;
    this.#entries.delete(key);
    entry.request.abort(new Error("no pod references it any more"));
    this.#parts.referencedObjects.delete(key);
    for (const followed of this.#referenced.get(key) ?? []) this.#release(followed, key);
    this.#referenced.delete(key);
  }

  #publish(key: string, entry: Entry, known: KnownObject<ApiObject>): void {
    // A late result belongs to an object that is no longer referenced, or that a newer entry requests again.
    if (this.#entries.get(key) !== entry) return;
    const { referencedObjects } = this.#parts;
    if (!isSameState(referencedObjects.get(key), known)) referencedObjects.set(key, known);
  }
}

/** After a lost watch, the replacement list repeats objects that are already known. */
function isSameState(before: KnownObject<ApiObject> | undefined, now: KnownObject<ApiObject>): boolean {
  if (before?.kind === "unknown" && now.kind === "unknown") return before.trouble === now.trouble;
  if (before?.kind === "present" && now.kind === "present") {
    const [a, b] = [before.object.metadata, now.object.metadata];
    return a?.uid === b?.uid && a?.resourceVersion === b?.resourceVersion;
  }
  return before?.kind === now.kind;
}

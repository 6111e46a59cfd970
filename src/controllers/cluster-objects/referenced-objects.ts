/**
 * Every object that an admitted pod names: asked for from the moment the pod is admitted until no such pod names it any more.
 *
 * An entry stands in `referencedObjects` in the same step in which its first pod is seen to be admitted, as "unknown": nobody finds a pod
 * whose objects are not asked for. ConfigMaps and Secrets are watched, one by one. Claims and the volumes they are bound to are fetched,
 * because a node may not watch them. Nothing is left behind for an object that nobody names.
 */
import type { PersistentVolumeClaim } from "../../api/gen/core-v1.ts";
import { configMaps, persistentVolumeClaims, persistentVolumes, secrets } from "../../api/resources.ts";
import { assertNever } from "../../base/assert.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import { type LinkedSignal, linkSignals } from "../../concurrency/link-signals.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { unlessShutDown } from "../../concurrency/unless-shut-down.ts";
import { boundVolumeName, isClaimed } from "../../domain/cluster-objects/bound-claim.ts";
import { type KnownObject, objectKey } from "../../domain/cluster-objects/known-object.ts";
import { type ObjectReference, referencesOf } from "../../domain/cluster-objects/references.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { ApiObject, ApiServer } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { fetchUntilSettled } from "./fetched-object.ts";
import { keepWatched } from "./watched-object.ts";

export interface ReferencedObjectsParts {
  /** Undefined: a node without an API server, where nothing that a pod names exists. */
  readonly api: Pick<ApiServer, "get" | "list" | "watch"> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly admittedPods: ReadTable<string, AdmittedPod>;
  readonly referencedObjects: LatestTable<string, KnownObject<ApiObject>>;
}

export async function runReferencedObjects(parts: ReferencedObjectsParts, shutdown: AbortSignal): Promise<void> {
  const { admittedPods } = parts;
  const referrals = new Referrals(parts, shutdown);
  const unwatch = admittedPods.watch((uid) => referrals.look(uid));
  try {
    await unlessShutDown(shutdown, async () => {
      for (const uid of admittedPods.keys()) referrals.look(uid);
      await unlessAborted(referrals.failed, shutdown);
    });
  } finally {
    unwatch();
    await referrals.end();
  }
}

interface Entry {
  /** UIDs of pods; the key of the claim for a volume. */
  readonly referrers: Set<string>;
  readonly asking: LinkedSignal;
}

class Referrals {
  /** Never resolves; rejects when the asking for an object ends in a way that was not foreseen. */
  readonly failed: Promise<never>;
  readonly #parts: ReferencedObjectsParts;
  readonly #shutdown: AbortSignal;
  readonly #entries = new Map<string, Entry>();
  /** What each pod named when last looked at. */
  readonly #named = new Map<string, ReadonlySet<string>>();
  readonly #running = new Set<Promise<void>>();
  readonly #fail: (error: unknown) => void;

  constructor(parts: ReferencedObjectsParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failed = promise;
    this.#fail = reject;
  }

  /** A rejected pod names nothing: none of its containers will run. */
  look(uid: string): void {
    const admitted = this.#parts.admittedPods.get(uid);
    const references = admitted?.verdict.kind === "admitted" ? referencesOf(admitted.pod) : [];
    const before = this.#named.get(uid) ?? new Set();
    const now = new Set(references.map(({ kind, namespace, name }) => objectKey(kind, namespace, name)));
    for (const reference of references) this.#refer(reference, uid);
    for (const key of before) if (!now.has(key)) this.#release(key, uid);
    if (now.size === 0) this.#named.delete(uid);
    else this.#named.set(uid, now);
  }

  async end(): Promise<void> {
    for (const { asking } of this.#entries.values()) asking.abort(new Error("the loop ends"));
    await Promise.all(this.#running);
  }

  #refer(reference: ObjectReference, referrer: string): void {
    const key = objectKey(reference.kind, reference.namespace, reference.name);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.referrers.add(referrer);
      return;
    }
    const { api, referencedObjects } = this.#parts;
    const asking = linkSignals(...(api === undefined ? [] : [this.#shutdown]));
    const entry: Entry = { referrers: new Set([referrer]), asking };
    this.#entries.set(key, entry);
    if (api === undefined) {
      referencedObjects.set(key, { kind: "missing" });
      return;
    }
    referencedObjects.set(key, { kind: "unknown", trouble: undefined });
    const ended = this.#ask(reference, { ...this.#parts, api }, (object) => this.#publish(key, entry, object), entry)
      .catch(this.#fail)
      .finally(() => {
        entry.asking[Symbol.dispose]();
        this.#running.delete(ended);
      });
    this.#running.add(ended);
  }

  async #ask(
    { kind, namespace, name }: ObjectReference,
    parts: ReferencedObjectsParts & { readonly api: NonNullable<ReferencedObjectsParts["api"]> },
    publish: (known: KnownObject<ApiObject>) => void,
    { asking: { signal } }: Entry,
  ): Promise<void> {
    switch (kind) {
      case "ConfigMap":
        return keepWatched(configMaps, { namespace, name }, parts, publish, signal);
      case "Secret":
        return keepWatched(secrets, { namespace, name }, parts, publish, signal);
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

  /** A volume is named by its claim, and goes when the claim goes. */
  #followClaim(claimKey: string, volume: string): void {
    if (!this.#entries.has(claimKey)) return;
    this.#refer({ kind: "PersistentVolume", namespace: "", name: volume }, claimKey);
    this.#named.set(claimKey, new Set([objectKey("PersistentVolume", "", volume)]));
  }

  #release(key: string, referrer: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || !entry.referrers.delete(referrer) || entry.referrers.size > 0) return;
    this.#entries.delete(key);
    entry.asking.abort(new Error("no pod names it any more"));
    this.#parts.referencedObjects.delete(key);
    for (const followed of this.#named.get(key) ?? []) this.#release(followed, key);
    this.#named.delete(key);
  }

  #publish(key: string, entry: Entry, known: KnownObject<ApiObject>): void {
    // What is told after its end is told of an object that nobody names, or that is asked for anew.
    if (this.#entries.get(key) !== entry) return;
    const { referencedObjects } = this.#parts;
    if (!saysTheSame(referencedObjects.get(key), known)) referencedObjects.set(key, known);
  }
}

/** A list that replaces a lost watch brings what is known already. */
function saysTheSame(before: KnownObject<ApiObject> | undefined, now: KnownObject<ApiObject>): boolean {
  if (before?.kind === "unknown" && now.kind === "unknown") return before.trouble === now.trouble;
  if (before?.kind === "present" && now.kind === "present") {
    const [a, b] = [before.object.metadata, now.object.metadata];
    return a?.uid === b?.uid && a?.resourceVersion === b?.resourceVersion;
  }
  return before?.kind === now.kind;
}

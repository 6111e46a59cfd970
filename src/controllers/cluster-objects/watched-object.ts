/** One ConfigMap or Secret, from one watch of one object. What never changes again is not watched on. */
import type { ConfigMap, Secret } from "../../api/gen/core-v1.ts";
import type { BackoffCurve } from "../../base/backoff.ts";
import { startInformer } from "../../concurrency/informer.ts";
import { linkSignals } from "../../concurrency/link-signals.ts";
import type { KnownObject } from "../../domain/cluster-objects/known-object.ts";
import type { ApiObject, ApiServer, Resource } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { lean } from "./lean.ts";

export interface WatchedObjectParts {
  readonly api: Pick<ApiServer, "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
}

type Watched = ApiObject & Pick<ConfigMap & Secret, "immutable">;

/** Soon at first: a pod may be here a moment before the server knows that its node may read what it names. */
const BACKOFF: BackoffCurve = { firstMs: 50, maxMs: 30_000 };

/** Ends when the signal aborts, or when the object says that it will never change. */
export async function keepWatched(
  resource: Resource<Watched>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { api, clock, random }: WatchedObjectParts,
  publish: (known: KnownObject<ApiObject>) => void,
  signal: AbortSignal,
): Promise<void> {
  using watching = linkSignals(signal);
  let heard = false;
  const onTrouble = (trouble: string) => {
    // What was heard stays true until something else is heard.
    if (!heard) publish({ kind: "unknown", trouble });
  };
  const selection = { namespace, fields: `metadata.name=${name}` };
  const options = { api, resource, selection, clock, random, onTrouble, keep: lean<Watched>, backoff: BACKOFF };
  const informer = startInformer(options, watching.signal);
  const { store } = informer;
  let seen = store.version;
  while (!watching.signal.aborted) {
    try {
      seen = await store.changed(seen, watching.signal);
    } catch {
      break; // Rejects only when the signal aborts.
    }
    heard = true;
    const object = store.value.objects.get(`${namespace}/${name}`);
    publish(object === undefined ? { kind: "missing" } : { kind: "present", object });
    if (object?.immutable === true) watching.abort(new Error("it never changes"));
  }
  await informer.ended;
}

/**
 * Keeps one ConfigMap or Secret up to date with a watch of that single object. The watch ends once the object is
 * immutable.
 */
import type { ConfigMap, Secret } from "../../api/gen/core-v1.ts";
import type { BackoffCurve } from "../../base/backoff.ts";
import { linkSignals } from "../../concurrency/abort.ts";
import { startInformer } from "../../concurrency/informer.ts";
import { onChange } from "../../concurrency/on-change.ts";
import type { KnownObject } from "../../domain/cluster-objects/references.ts";
import type { ApiObject, ApiServer, Resource } from "../../ports/api-server.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { stripManagedFields } from "./strip-managed-fields.ts";

export interface WatchedObjectParts {
  readonly api: Pick<ApiServer, "list" | "watch">;
  readonly clock: Clock;
  readonly random: Random;
}

type Watched = ApiObject & Pick<ConfigMap & Secret, "immutable">;

/**
 * The first retries come soon: the node may see a pod before the API server authorizes the node to read the pod's
 * objects.
 */
const BACKOFF: BackoffCurve = { firstMs: 50, maxMs: 30_000 };

/** Resolves when the signal aborts or the object is immutable. */
export async function watchObject(
  resource: Resource<Watched>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { api, clock, random }: WatchedObjectParts,
  publish: (known: KnownObject<ApiObject>) => void,
  signal: AbortSignal,
): Promise<void> {
  using watching = linkSignals(signal);
  let isKnown = false;
  const onTrouble = (trouble: string) => {
    // A published state stays valid until a newer one is received.
    if (!isKnown) publish({ kind: "unknown", trouble });
  };
  const selection = { namespace, fields: `metadata.name=${name}` };
  const options = {
    api,
    resource,
    selection,
    clock,
    random,
    onTrouble,
    keep: stripManagedFields<Watched>,
    backoff: BACKOFF,
  };
  const informer = startInformer(options, watching.signal);
  const { store } = informer;
  const read = () => {
    isKnown = true;
    const object = store.value.objects.get(`${namespace}/${name}`);
    publish(object === undefined ? { kind: "missing" } : { kind: "present", object });
    if (object?.immutable === true) watching.abort(new Error("it never changes"));
  };
  await onChange(store, read, watching.signal);
  await informer.ended;
}

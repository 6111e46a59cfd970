/**
 * Create, update, patch and delete as the API server does them: resource versions, UIDs, separate status, finalizers,
 * grace periods.
 */
import type { ObjectMeta } from "../../src/api/gen/meta-v1.ts";
import { namespaces, serviceAccounts } from "../../src/api/resources.ts";
import { type JsonObject, jsonEqual } from "../../src/base/json-equal.ts";
import type { DeleteOptions, Patch } from "../../src/ports/api-server.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Random } from "../../src/ports/random.ts";
import type { Identity } from "./identity.ts";
import type { Kind } from "./kinds.ts";
import { kindOf } from "./kinds.ts";
import { admitDelete, admitWrite } from "./node-admission.ts";
import { applyPatch } from "./patches.ts";
import {
  asPod,
  checkPodChange,
  isMirror,
  newPodStatus,
  podDeletion,
  timestamp,
  withKeptPodStatus,
  withPodDefaults,
} from "./pods.ts";
import { conflict, forbidden, invalid, notFound, Refusal } from "./refusal.ts";
import { checkObject, nameFor } from "./rules.ts";
import type { Store } from "./store.ts";
import { type Draft, keyOf, received, type Stored } from "./stored.ts";

const KEPT_NAMESPACES = ["default", "kube-system", "kube-public"];
const PROPAGATION_FINALIZERS = { Foreground: "foregroundDeletion", Orphan: "orphan", Background: undefined } as const;

export class Writes {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(store: Store, clock: Clock, random: Random) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
  }

  create(kind: Kind, object: unknown, who: Identity): Stored {
    const { plural, kind: kindName, group, version, namespaced } = kind.resource;
    const sent = received(object);
    const name = nameFor(sent.metadata, this.#random);
    const namespace = namespaced ? sent.metadata?.namespace : undefined;
    if (namespaced) this.#checkNamespace(namespace ?? "");
    const draft = kind.key === "/pods" ? withPodDefaults(sent) : sent;
    checkObject(kind, draft, name);
    if (kind.key === "/pods") this.#checkServiceAccount(draft, namespace ?? "");
    const metadata = {
      ...draft.metadata,
      name,
      ...(namespace !== undefined && { namespace }),
      uid: this.#random.uuid(),
      resourceVersion: "",
      creationTimestamp: timestamp(this.#clock.wallMs()),
      ...(kind.countsGenerations && { generation: 1 }),
    };
    const { status, ...rest } = draft;
    const fresh = { ...rest, apiVersion: group === "" ? version : `${group}/${version}`, kind: kindName, metadata };
    const made = { ...fresh, ...firstStatus(kind, draft, status) } as Stored;
    admitWrite(this.#store, who, kind, undefined, made, undefined);
    if (this.#store.get(kind, keyOf(namespace, name)) !== undefined)
      throw new Refusal(409, "AlreadyExists", `${plural} "${name}" already exists`);
    return this.#store.put(kind, made);
  }

  update(kind: Kind, object: unknown, subresource: string | undefined, who: Identity): Stored {
    const draft = received(object);
    const current = this.find(kind, draft.metadata?.namespace, draft.metadata?.name ?? "", subresource);
    const { uid, resourceVersion } = draft.metadata ?? {};
    if (uid !== undefined && uid !== current.metadata.uid)
      throw conflict(`Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`);
    if (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion)
      throw conflict(
        `${current.metadata.name}: the object has been modified; please apply your changes to the latest version`,
      );
    return this.#write(kind, current, draft, subresource, who);
  }

  patch(
    kind: Kind,
    { namespace, name }: { readonly namespace?: string; readonly name: string },
    patch: Patch,
    subresource: string | undefined,
    who: Identity,
  ): Stored {
    const current = this.find(kind, namespace, name, subresource);
    const draft = applyPatch(current, patch) as Draft;
    const { metadata } = draft;
    if (metadata?.uid !== current.metadata.uid)
      throw invalid(`${kind.resource.kind} "${name}"`, "metadata.uid: Invalid value: field is immutable");
    if (metadata.resourceVersion !== current.metadata.resourceVersion)
      throw conflict(`${name}: the object has been modified; please apply your changes to the latest version`);
    return this.#write(kind, current, draft, subresource, who);
  }

  delete(
    kind: Kind,
    target: { readonly namespace?: string; readonly name: string },
    options: DeleteOptions,
    who: Identity,
  ) {
    const current = this.find(kind, target.namespace, target.name, undefined);
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (uid !== undefined && uid !== current.metadata.uid)
      throw conflict(`Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`);
    if (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion)
      throw conflict(`Precondition failed: ResourceVersion in precondition: ${resourceVersion}`);
    admitDelete(who, kind, current);
    if (kind.key === "/namespaces" && KEPT_NAMESPACES.includes(target.name))
      throw forbidden(`namespaces "${target.name}" is forbidden: this namespace may not be deleted`);
    this.#delete(kind, current, options);
  }

  find(kind: Kind, namespace: string | undefined, name: string, subresource: string | undefined): Stored {
    if (subresource !== undefined && !kind.subresources.includes(subresource))
      throw notFound(`the server has no ${kind.resource.plural}/${subresource}:`);
    const found = this.#store.get(kind, keyOf(kind.resource.namespaced ? namespace : undefined, name));
    if (found === undefined) throw notFound(`${kind.resource.plural} "${name}"`);
    return found;
  }

  #write(kind: Kind, current: Stored, draft: Draft, subresource: string | undefined, who: Identity): Stored {
    const next = throughDoor(kind, current, draft, subresource);
    checkObject(kind, next, next.metadata.name);
    if (kind.key === "/pods" && subresource !== "ephemeralcontainers") checkPodChange(current, next, subresource);
    admitWrite(this.#store, who, kind, current, next, subresource);
    if (jsonEqual(next, current)) return current;
    const isSpecChanged = kind.countsGenerations && !jsonEqual(next.spec, current.spec);
    const generation = isSpecChanged ? { generation: (current.metadata.generation ?? 0) + 1 } : {};
    const changed = { ...next, metadata: { ...next.metadata, ...generation } };
    // Removing the last finalizer of a deleted object removes the object.
    const isLast = (changed.metadata.finalizers ?? []).length === 0 && (current.metadata.finalizers ?? []).length > 0;
    const isDue = changed.metadata.deletionTimestamp !== undefined && changed.metadata.deletionGracePeriodSeconds === 0;
    return isLast && isDue ? this.#store.remove(kind, changed) : this.#store.put(kind, changed);
  }

  #delete(kind: Kind, current: Stored, { gracePeriodSeconds, propagation }: DeleteOptions): void {
    const wallMs = this.#clock.wallMs();
    const finalizer = propagation === undefined ? undefined : PROPAGATION_FINALIZERS[propagation];
    const finalizers = [
      ...new Set([...(current.metadata.finalizers ?? []), ...(finalizer === undefined ? [] : [finalizer])]),
    ];
    const deletion =
      kind.key === "/pods" ? podDeletion(current, gracePeriodSeconds, wallMs) : ({ kind: "remove" } as const);
    if (deletion.kind === "nothing") return;
    if (deletion.kind === "remove" && finalizers.length === 0) {
      this.#store.remove(kind, current);
      return;
    }
    const { generation, deletionTimestamp } = current.metadata;
    const metadata = {
      ...current.metadata,
      deletionTimestamp: deletion.kind === "remove" ? timestamp(wallMs) : deletion.deletionTimestamp,
      deletionGracePeriodSeconds: deletion.kind === "mark" ? deletion.deletionGracePeriodSeconds : 0,
      ...(generation !== undefined && deletionTimestamp === undefined && { generation: generation + 1 }),
      ...(finalizers.length > 0 && { finalizers }),
    };
    const marked = { ...current, metadata };
    const latest = jsonEqual(marked, current) ? current : this.#store.put(kind, marked);
    if (deletion.kind === "markAndRemove" && finalizers.length === 0) this.#store.remove(kind, latest);
  }

  #checkNamespace(namespace: string): void {
    const found = this.#store.get(kindOf(namespaces), keyOf(undefined, namespace));
    if (found === undefined) throw notFound(`namespaces "${namespace}"`);
    if (found.metadata.deletionTimestamp !== undefined)
      throw forbidden(`unable to create new content in namespace ${namespace} because it is being terminated`);
  }

  /** Emulates ServiceAccount admission: the pod's account must exist. Mirror pods have none. */
  #checkServiceAccount(draft: Draft, namespace: string): void {
    if (isMirror(draft)) return;
    const account = asPod(draft).spec?.serviceAccountName ?? "default";
    if (this.#store.get(kindOf(serviceAccounts), keyOf(namespace, account)) === undefined)
      throw forbidden(
        `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`,
      );
  }
}

function firstStatus(kind: Kind, draft: Draft, status: JsonObject | undefined): { readonly status?: JsonObject } {
  if (kind.key === "/pods") return { status: newPodStatus(draft) };
  if (kind.key === "/namespaces") return { status: { phase: "Active" } };
  const isKept = kind.keepsFirstStatus || !kind.subresources.includes("status");
  return status === undefined || !isKept ? {} : { status };
}

/** Applies what a write through this subresource, or through none, may change; the rest stays. */
function throughDoor(kind: Kind, current: Stored, draft: Draft, subresource: string | undefined): Stored {
  const metadata = kept(current, draft.metadata);
  switch (subresource) {
    case "status": {
      const { ownerReferences: _, ...changeable } = metadata;
      const { ownerReferences } = current.metadata;
      const owned = { ...changeable, ...(ownerReferences !== undefined && { ownerReferences }) };
      const status = kind.key === "/pods" ? withKeptPodStatus(current, draft.status) : draft.status;
      return withStatus({ ...current, metadata: owned }, status);
    }
    case "resize":
    case "ephemeralcontainers":
      return { ...current, ...(draft.spec !== undefined && { spec: draft.spec }) };
    default: {
      const { apiVersion, kind: kindName } = current;
      const next = { ...draft, apiVersion, kind: kindName, metadata } as Stored;
      if (!kind.subresources.includes("status")) return next;
      const spec = kind.key === "/pods" ? withPodDefaults(next).spec : next.spec;
      return withStatus({ ...next, ...(spec !== undefined && { spec }) }, current.status);
    }
  }
}

function withStatus({ status: _status, ...object }: Stored, status: JsonObject | undefined): Stored {
  return status === undefined ? object : { ...object, status };
}

/** Metadata that the server owns stays as it was. */
function kept({ metadata: old }: Stored, sent: ObjectMeta | undefined): Stored["metadata"] {
  const { name, namespace, uid, resourceVersion, creationTimestamp, generation } = old;
  const { deletionTimestamp, deletionGracePeriodSeconds } = old;
  const own = { name, namespace, uid, resourceVersion, creationTimestamp, generation };
  const all = { ...sent, ...own, deletionTimestamp, deletionGracePeriodSeconds };
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== undefined),
  ) as unknown as Stored["metadata"];
}

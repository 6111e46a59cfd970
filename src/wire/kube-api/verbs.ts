/** The verbs of the ApiServer port as HTTP requests. */
import type { ApiObject, Resource } from "../../api/resource.ts";
import { assert } from "../../base/assert.ts";
import { linkSignals } from "../../concurrency/abort.ts";
import type {
  ApiServer,
  DeleteOptions,
  ListOptions,
  ObjectName,
  Page,
  Patch,
  Selection,
  WatchEvent,
  WatchStart,
  WriteOptions,
} from "../../ports/api-server.ts";
import type { Random } from "../../ports/random.ts";
import { parseJson } from "./answers.ts";
import { collectionPath, listQuery, objectPath, operationName, watchQuery } from "./paths.ts";
import type { ApiRequest, Requester } from "./requester.ts";
import { readWatch, untilEnded } from "./watch.ts";

const JSON_TYPE = "application/json";
const PATCH_TYPES = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
} as const satisfies Record<Patch["kind"], string>;

/** How long the server may keep a watch open: spread, so that the watches of many nodes do not end together. */
export interface WatchSeconds {
  readonly min: number;
  readonly max: number;
}

interface ListBody<T> {
  readonly items?: readonly T[] | null;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

export function apiServerOver(
  requester: Requester,
  root: string,
  random: Random,
  watchSeconds: WatchSeconds,
  /** Aborts with a `WatchEnded` when the watches open now must end. */
  watching: () => AbortSignal,
): Omit<ApiServer, "renewConnections"> {
  const call = async <T>(request: ApiRequest, signal: AbortSignal): Promise<T> => {
    const body = await requester.send({ ...request, path: root + request.path }, signal);
    return parseJson(request.operation, body) as T;
  };
  return {
    get: async (resource, name, signal) => call(getRequest(resource, name), signal),

    async list<T extends ApiObject>(
      resource: Resource<T>,
      selection: Selection,
      options: ListOptions,
      signal: AbortSignal,
    ): Promise<Page<T>> {
      const { items, metadata } = await call<ListBody<T>>(listRequest(resource, selection, options), signal);
      const token = metadata?.continue ?? "";
      return {
        items: items ?? [],
        resourceVersion: metadata?.resourceVersion ?? "",
        ...(token === "" ? {} : { continueToken: token }),
      };
    },

    async *watch<T extends ApiObject>(
      resource: Resource<T>,
      selection: Selection,
      start: WatchStart,
      signal: AbortSignal,
    ): AsyncGenerator<WatchEvent<T>, void, undefined> {
      const spread = Math.floor(random.fraction() * (watchSeconds.max - watchSeconds.min + 1));
      const request = watchRequest(resource, selection, start, watchSeconds.min + spread);
      using open = linkSignals(signal, watching());
      const exchange = await requester.open({ ...request, path: root + request.path }, signal);
      yield* untilEnded(request.operation, start, readWatch<T>(request.operation, exchange, open.signal), signal);
    },

    create: async (resource, object, signal) => call(createRequest(resource, object), signal),
    update: async (resource, object, options, signal) => call(updateRequest(resource, object, options), signal),
    patch: async (resource, name, patch, options, signal) => call(patchRequest(resource, name, patch, options), signal),

    async delete(resource, name, options, signal) {
      const request = deleteRequest(resource, name, options);
      await requester.send({ ...request, path: root + request.path }, signal);
    },

    ask: async (resource, name, subresource, question, signal) => {
      const operation = operationName("CREATE", resource, name, subresource);
      const path = objectPath(operation, resource, name, subresource);
      return call({ operation, method: "POST", path, contentType: JSON_TYPE, body: question }, signal);
    },
  };
}

function getRequest(resource: Resource<ApiObject>, name: ObjectName): ApiRequest {
  const operation = operationName("GET", resource, name);
  return { operation, method: "GET", path: objectPath(operation, resource, name) };
}

function listRequest(resource: Resource<ApiObject>, selection: Selection, options: ListOptions): ApiRequest {
  const operation = operationName("LIST", resource, { ...selectionNamespace(selection) });
  const path = collectionPath(operation, resource, selection.namespace) + listQuery(selection, options);
  return { operation, method: "GET", path, acceptGzip: true };
}

function watchRequest(
  resource: Resource<ApiObject>,
  selection: Selection,
  start: WatchStart,
  timeoutSeconds: number,
): ApiRequest {
  const operation = operationName("WATCH", resource, selectionNamespace(selection));
  const query = watchQuery(selection, start, timeoutSeconds);
  return { operation, method: "GET", path: collectionPath(operation, resource, selection.namespace) + query };
}

function createRequest(resource: Resource<ApiObject>, object: ApiObject): ApiRequest {
  const { name, namespace } = object.metadata ?? {};
  const target = { ...(name === undefined ? {} : { name }), ...(namespace === undefined ? {} : { namespace }) };
  const operation = operationName("CREATE", resource, target);
  assert(!resource.namespaced || namespace !== undefined, `${operation}: which namespace?`);
  const path = collectionPath(operation, resource, namespace);
  return { operation, method: "POST", path, contentType: JSON_TYPE, body: typed(resource, object) };
}

function updateRequest(resource: Resource<ApiObject>, object: ApiObject, { subresource }: WriteOptions): ApiRequest {
  const { name = "", namespace } = object.metadata ?? {};
  const target = { name, ...(namespace === undefined ? {} : { namespace }) };
  const operation = operationName("UPDATE", resource, target, subresource);
  const path = objectPath(operation, resource, target, subresource);
  return { operation, method: "PUT", path, contentType: JSON_TYPE, body: typed(resource, object) };
}

function patchRequest(
  resource: Resource<ApiObject>,
  name: ObjectName,
  { kind, body }: Patch,
  { subresource }: WriteOptions,
): ApiRequest {
  const operation = operationName("PATCH", resource, name, subresource);
  const path = objectPath(operation, resource, name, subresource);
  return { operation, method: "PATCH", path, contentType: PATCH_TYPES[kind], body };
}

function deleteRequest(resource: Resource<ApiObject>, name: ObjectName, options: DeleteOptions): ApiRequest {
  const operation = operationName("DELETE", resource, name);
  const { gracePeriodSeconds, preconditions, propagation } = options;
  const body = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    gracePeriodSeconds,
    preconditions,
    propagationPolicy: propagation,
  };
  return { operation, method: "DELETE", path: objectPath(operation, resource, name), contentType: JSON_TYPE, body };
}

const selectionNamespace = ({ namespace }: Selection) => (namespace === undefined ? {} : { namespace });

/** Items of a list come without their kind; the server requires it when they are sent back. */
const typed = ({ group, version, kind }: Resource<ApiObject>, object: ApiObject) => ({
  apiVersion: group === "" ? version : `${group}/${version}`,
  kind,
  ...object,
});

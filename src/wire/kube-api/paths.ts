/** The URL paths of API objects, and how errors name a call. */
import type { ApiObject, Resource } from "../../api/resource.ts";
import { assert } from "../../base/assert.ts";
import { ApiError } from "../../ports/api-error.ts";
import type { ListOptions, ObjectName, Selection, WatchStart } from "../../ports/api-server.ts";

export type Verb = "GET" | "LIST" | "WATCH" | "CREATE" | "UPDATE" | "PATCH" | "DELETE";

/** "PATCH pods/status default/web": the verb, the resource and the object. */
export function operationName(
  verb: Verb,
  resource: Resource<ApiObject>,
  target: Partial<ObjectName>,
  subresource?: string,
): string {
  const kind = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  const object = [target.namespace, target.name].filter((part) => part !== undefined && part !== "").join("/");
  return object === "" ? `${verb} ${kind}` : `${verb} ${kind} ${object}`;
}

export function collectionPath(
  operation: string,
  resource: Resource<ApiObject>,
  namespace: string | undefined,
): string {
  const { group, version, plural, namespaced } = resource;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  if (namespace === undefined || namespace === "") return `${root}/${plural}`;
  assert(namespaced, `${operation}: ${plural} have no namespace`);
  return `${root}/namespaces/${segment(operation, namespace)}/${plural}`;
}

export function objectPath(
  operation: string,
  resource: Resource<ApiObject>,
  { namespace, name }: ObjectName,
  subresource?: string,
): string {
  assert(!resource.namespaced || (namespace ?? "") !== "", `${operation}: which namespace?`);
  const path = `${collectionPath(operation, resource, namespace)}/${segment(operation, name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** No object can have such a name, and as part of a path it would address another object. */
function segment(operation: string, name: string): string {
  if (name === "" || name === "." || name === ".." || /[/%]/.test(name)) {
    throw new ApiError(operation, 400, "BadRequest", `${JSON.stringify(name)} cannot be a name`);
  }
  return encodeURIComponent(name);
}

export function listQuery(selection: Selection, options: ListOptions): string {
  return query({
    ...selectors(selection),
    limit: options.limit?.toString(),
    continue: options.continueToken,
    resourceVersion: options.resourceVersion,
  });
}

export function watchQuery(selection: Selection, start: WatchStart, timeoutSeconds: number): string {
  return query({
    watch: "1",
    ...selectors(selection),
    allowWatchBookmarks: "true",
    timeoutSeconds: timeoutSeconds.toString(),
    ...(start.kind === "after"
      ? { resourceVersion: start.resourceVersion }
      : // Without a resource version, what the server sends is as fresh as a consistent read.
        { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }),
  });
}

const selectors = ({ labels, fields }: Selection) => ({ labelSelector: labels, fieldSelector: fields });

function query(parameters: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

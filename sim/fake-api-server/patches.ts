/** Merge patches (RFC 7386) and strategic merge patches, applied as the API server does. */
import { isJsonObject, type JsonObject } from "../../src/base/json-equal.ts";
import type { Patch } from "../../src/ports/api-server.ts";
import { type ListMerge, listMergeOf } from "./merge-keys.ts";
import { badRequest } from "./refusal.ts";

const ORDER = "$setElementOrder/";
const DELETE = "$deleteFromPrimitiveList/";
const RETAIN = "$retainKeys";
const DIRECTIVE = "$patch";

export function applyPatch(current: JsonObject, { kind, body }: Patch): JsonObject {
  const patch: unknown = JSON.parse(JSON.stringify(body ?? {}));
  if (!isJsonObject(patch)) throw badRequest("the patch is no object");
  return kind === "merge" ? merged(current, patch) : strategic(current, patch, "");
}

function merged(current: unknown, patch: unknown): JsonObject {
  const result = new Map(Object.entries(isJsonObject(current) ? current : {}));
  for (const [name, value] of Object.entries(patch as JsonObject)) {
    if (value === null) result.delete(name);
    else result.set(name, isJsonObject(value) ? merged(result.get(name), value) : value);
  }
  return Object.fromEntries(result);
}

/** `here` is the name of the field that holds this object, or that holds the list of which it is an item. */
function strategic(current: JsonObject, patch: JsonObject, here: string): JsonObject {
  if (patch[DIRECTIVE] === "replace") return without(patch, [DIRECTIVE]);
  const retained = patch[RETAIN] as readonly string[] | undefined;
  const kept = Object.entries(current).filter(([name]) => retained === undefined || retained.includes(name));
  const result = new Map<string, unknown>(kept);
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith("$")) continue;
    if (value === null || (isJsonObject(value) && value[DIRECTIVE] === "delete")) result.delete(name);
    else result.set(name, strategicValue(result.get(name), value, here, name));
  }
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith(DELETE)) {
      const field = name.slice(DELETE.length);
      const gone = value as readonly unknown[];
      result.set(
        field,
        asList(result.get(field)).filter((item) => !gone.includes(item)),
      );
    }
    if (name.startsWith(ORDER)) {
      const field = name.slice(ORDER.length);
      const merge = listMergeOf(here, field);
      const identity = identityOf(merge);
      result.set(field, inOrder(asList(result.get(field)), asList(value), asList(current[field]), identity));
    }
  }
  return Object.fromEntries(result);
}

function strategicValue(current: unknown, value: unknown, here: string, name: string): unknown {
  if (isJsonObject(value)) return strategic(isJsonObject(current) ? current : {}, value, name);
  if (!Array.isArray(value)) return value;
  const merge = listMergeOf(here, name);
  if (merge === undefined) return value;
  return mergedList(asList(current), value, merge, name);
}

function mergedList(current: readonly unknown[], patch: readonly unknown[], merge: ListMerge, name: string): unknown {
  if (merge.kind === "set") return [...new Set([...current, ...patch])];
  const identity = identityOf(merge);
  const directive = (item: unknown) => (isJsonObject(item) ? item[DIRECTIVE] : undefined);
  const changes = patch.filter((item) => directive(item) === undefined || directive(item) === "merge");
  if (patch.some((item) => directive(item) === "replace")) return changes;
  const gone = new Set(patch.filter((item) => directive(item) === "delete").map(identity));
  const kept = current.filter((item) => !gone.has(identity(item)));
  const result = kept.map((item) => {
    const change = changes.find((candidate) => identity(candidate) === identity(item));
    return change === undefined ? item : strategic(item as JsonObject, change as JsonObject, name);
  });
  const isThere = new Set(kept.map(identity));
  for (const change of changes)
    if (!isThere.has(identity(change))) result.push(strategic({}, change as JsonObject, name));
  return inOrder(result, changes, kept, identity);
}

const identityOf =
  (merge: ListMerge | undefined) =>
  (item: unknown): unknown =>
    merge?.kind === "byKey" ? (item as JsonObject)[merge.key] : item;

/**
 * Sorts the items by `order`. Items that `order` does not name keep their place among their neighbors where possible.
 */
function inOrder(
  items: readonly unknown[],
  order: readonly unknown[],
  before: readonly unknown[],
  identity: (item: unknown) => unknown,
): readonly unknown[] {
  const places = order.map(identity);
  const oldPlaces = before.map(identity);
  const place = (item: unknown) => places.indexOf(identity(item));
  const oldPlace = (item: unknown) => oldPlaces.indexOf(identity(item));
  const named = items.filter((item) => place(item) >= 0).sort((a, b) => place(a) - place(b));
  const others = items.filter((item) => place(item) < 0).sort((a, b) => oldPlace(a) - oldPlace(b));
  const result: unknown[] = [];
  while (named.length > 0 || others.length > 0) {
    const isOtherFirst =
      others.length > 0 &&
      (named.length === 0 || (oldPlace(named[0]) >= 0 && oldPlace(others[0]) < oldPlace(named[0])));
    result.push((isOtherFirst ? others : named).shift());
  }
  return result;
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);

const without = (object: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

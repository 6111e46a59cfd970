/**
 * Applies a strategic merge patch as an API server does, for the directives that Deckhand sends. Lists are ordered by
 * the server's rules: items of the patch follow the order of the patch (or of `$setElementOrder`). Items that only the
 * server knows keep their position among them as far as possible.
 */
import { isJsonObject, type JsonObject } from "../../src/base/json-equal.ts";
import type { MergeField, MergeFields } from "../../src/base/strategic-merge.ts";

const ORDER = "$setElementOrder/";

export function applyStrategicMerge(live: JsonObject, patch: JsonObject, fields: MergeFields): JsonObject {
  const result = new Map(Object.entries(live));
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith(ORDER)) continue;
    if (value === null) result.delete(name);
    else result.set(name, merged(result.get(name), value, fields[name]));
  }
  for (const [name, order] of Object.entries(patch)) {
    if (!name.startsWith(ORDER)) continue;
    const field = name.slice(ORDER.length);
    const schema = fields[field];
    if (schema?.kind !== "listByKey") throw new Error(`no list by key: ${field}`);
    const list = (result.get(field) ?? []) as readonly JsonObject[];
    result.set(field, inOrder(list, order as readonly JsonObject[], (live[field] ?? []) as JsonObject[], schema.key));
  }
  return Object.fromEntries(result);
}

function merged(live: unknown, value: unknown, schema: MergeField | undefined): unknown {
  if (isJsonObject(value) && isJsonObject(live)) {
    return applyStrategicMerge(live, value, schema?.kind === "object" ? schema.fields : {});
  }
  if (!Array.isArray(value)) return value;
  const items = value as readonly JsonObject[];
  const plain = items.filter((item) => !(isJsonObject(item) && "$patch" in item));
  if (!Array.isArray(live) || schema === undefined || schema.kind === "object") return plain;
  const key = schema.kind === "listByKey" ? schema.key : "type";
  // Even with `$patch: replace`, items with the same key are grouped.
  if (items.some((item) => item["$patch"] === "replace")) return inOrder(plain, plain, [], key);
  const gone = items.filter((item) => item["$patch"] === "delete").map((item) => item[key]);
  const kept = (live as readonly JsonObject[]).filter((item) => !gone.includes(item[key]));
  const all = kept.map((item) => {
    const change = plain.find((candidate) => candidate[key] === item[key]);
    return change === undefined ? item : applyStrategicMerge(item, change, {});
  });
  for (const item of plain) if (!kept.some((candidate) => candidate[key] === item[key])) all.push(item);
  return inOrder(all, plain, kept, key);
}

function inOrder(
  items: readonly JsonObject[],
  order: readonly JsonObject[],
  serverOrder: readonly JsonObject[],
  key: string,
): readonly JsonObject[] {
  const at = (list: readonly JsonObject[], item: JsonObject) => list.findIndex((other) => other[key] === item[key]);
  const ours = items.filter((item) => at(order, item) >= 0).sort((a, b) => at(order, a) - at(order, b));
  const theirs = items.filter((item) => at(order, item) < 0).sort((a, b) => at(serverOrder, a) - at(serverOrder, b));
  const result: JsonObject[] = [];
  while (ours.length > 0 || theirs.length > 0) {
    const [their, our] = [theirs[0], ours[0]];
    const earlier =
      their !== undefined &&
      (our === undefined || (at(serverOrder, our) >= 0 && at(serverOrder, their) < at(serverOrder, our)));
    result.push((earlier ? theirs : ours).shift() as JsonObject);
  }
  return result;
}

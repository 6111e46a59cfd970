/**
 * Computes the two-way strategic merge patch that turns `current` into `target` on the API server.
 *
 * Objects are merged; a removed field is sent as null. A list is replaced as a whole unless its schema says otherwise,
 * as most status lists do. The patch contains changes only, so that other writers' fields survive.
 */
import { BugError } from "./assert.ts";
import { fieldNames, fieldOf, isJsonObject, type JsonObject, jsonEqual } from "./json-equal.ts";

/** How the API server merges a field (`x-kubernetes-patch-strategy` of its OpenAPI document). */
export type MergeField =
  | { readonly kind: "object"; readonly fields: MergeFields }
  /** Items are identified by the value of `key` and merged one by one. */
  | { readonly kind: "listByKey"; readonly key: string; readonly item?: MergeFields }
  /** The server's merge key is not unique for this list, so the list is sent whole with `$patch: replace`. */
  | { readonly kind: "listReplaced" };

export type MergeFields = Readonly<Record<string, MergeField>>;

/** Undefined when nothing changes. */
export function strategicMergePatch(
  current: JsonObject,
  target: JsonObject,
  fields: MergeFields,
): JsonObject | undefined {
  const patch = objectPatch(current, target, fields);
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function objectPatch(current: JsonObject, target: JsonObject, fields: MergeFields): JsonObject {
  const entries: (readonly [string, unknown])[] = [];
  for (const name of fieldNames(current)) {
    if (fieldOf(target, name) === undefined) entries.push([name, null]);
  }
  for (const name of fieldNames(target)) {
    const [before, after] = [fieldOf(current, name), target[name]];
    if (!jsonEqual(before, after)) entries.push(...fieldPatch(name, before, after, schemaOf(fields, name)));
  }
  // Not by assignment: assigning a field named "__proto__" would set the prototype.
  return Object.fromEntries(entries);
}

const schemaOf = (fields: MergeFields, name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined);

function fieldPatch(
  name: string,
  before: unknown,
  after: unknown,
  schema: MergeField | undefined,
): readonly (readonly [string, unknown])[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    return [[name, objectPatch(before, after, schema?.kind === "object" ? schema.fields : {})]];
  }
  if (Array.isArray(after)) {
    if (schema?.kind === "listReplaced") return [[name, replaced(after)]];
    if (schema?.kind === "listByKey" && Array.isArray(before)) return keyedPatch(name, before, after, schema);
  }
  return [[name, after]];
}

const replaced = (items: readonly unknown[]) => [...items, { $patch: "replace" }];

function keyedPatch(
  name: string,
  before: readonly unknown[],
  after: readonly unknown[],
  { key, item = {} }: Extract<MergeField, { kind: "listByKey" }>,
): readonly (readonly [string, unknown])[] {
  const [old, wanted] = [byKey(before, key), byKey(after, key)];
  if (wanted === undefined) throw new BugError(`${name}: two items, or none, for one ${key}`);
  // Another client wrote the server's list, whose items may lack keys or share them. Replace the whole list.
  if (old === undefined) return [[name, replaced(after)]];
  const changes: unknown[] = [];
  for (const [value, object] of wanted) {
    const known = old.get(value);
    if (known === undefined) changes.push(object);
    else if (!jsonEqual(known, object)) changes.push({ [key]: value, ...objectPatch(known, object, item) });
  }
  for (const value of old.keys()) if (!wanted.has(value)) changes.push({ [key]: value, $patch: "delete" });
  const patch: (readonly [string, unknown])[] = changes.length === 0 ? [] : [[name, changes]];
  // Without the order the server puts new items first. It is omitted when keys and order are unchanged.
  if (wanted.size > 0 && !jsonEqual([...old.keys()], [...wanted.keys()])) {
    patch.push([`$setElementOrder/${name}`, [...wanted.keys()].map((value) => ({ [key]: value }))]);
  }
  return patch;
}

/** Undefined when an item has no key, or two items share one. */
function byKey(items: readonly unknown[], key: string): ReadonlyMap<unknown, JsonObject> | undefined {
  const found = new Map<unknown, JsonObject>();
  for (const item of items) {
    const value = isJsonObject(item) ? fieldOf(item, key) : undefined;
    if (value === undefined || found.has(value)) return undefined;
    found.set(value, item as JsonObject);
  }
  return found;
}

/**
 * The two-way strategic merge patch: what to send to the API server so that `current` becomes `target`.
 *
 * Fields are merged, a field that went away is sent as null. A list is replaced whole unless its schema says otherwise: most lists
 * of a status are. Only what changed is sent, so that what others wrote beside it stays.
 */
import { BugError } from "./assert.ts";
import { fieldNames, fieldOf, isJsonObject, type JsonObject, jsonEqual } from "./json-equal.ts";

/** How the API server merges a field (`x-kubernetes-patch-strategy` of its OpenAPI document). */
export type MergeField =
  | { readonly kind: "object"; readonly fields: MergeFields }
  /** Items are told apart by the value of `key`, and are merged each. */
  | { readonly kind: "listByKey"; readonly key: string; readonly item?: MergeFields }
  /** The server would merge it by a key that is not one: sent whole, with the order to replace. */
  | { readonly kind: "listReplaced" };

export type MergeFields = Readonly<Record<string, MergeField>>;

/** Undefined when there is nothing to change. */
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
  // Not by assignment, which a field called "__proto__" would turn into something else.
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
  // What the server holds was written by someone else, and need not be told apart.
  if (old === undefined) return [[name, replaced(after)]];
  const changes: unknown[] = [];
  for (const [value, object] of wanted) {
    const known = old.get(value);
    if (known === undefined) changes.push(object);
    else if (!jsonEqual(known, object)) changes.push({ [key]: value, ...objectPatch(known, object, item) });
  }
  for (const value of old.keys()) if (!wanted.has(value)) changes.push({ [key]: value, $patch: "delete" });
  const patch: (readonly [string, unknown])[] = changes.length === 0 ? [] : [[name, changes]];
  // Without it new items come first; with the same items in the same order there is nothing to say.
  if (wanted.size > 0 && !jsonEqual([...old.keys()], [...wanted.keys()])) {
    patch.push([`$setElementOrder/${name}`, [...wanted.keys()].map((value) => ({ [key]: value }))]);
  }
  return patch;
}

/** Undefined when an item has no key, or two have the same. */
function byKey(items: readonly unknown[], key: string): ReadonlyMap<unknown, JsonObject> | undefined {
  const found = new Map<unknown, JsonObject>();
  for (const item of items) {
    const value = isJsonObject(item) ? fieldOf(item, key) : undefined;
    if (value === undefined || found.has(value)) return undefined;
    found.set(value, item as JsonObject);
  }
  return found;
}

/** Compares two JSON values. A field that is undefined or null counts as absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => jsonEqual(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = fieldNames(a);
  return names.length === fieldNames(b).length && names.every((name) => jsonEqual(a[name], fieldOf(b, name)));
}

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Names of the fields that have a value. */
export const fieldNames = (object: JsonObject): readonly string[] =>
  Object.keys(object).filter((name) => object[name] !== undefined && object[name] !== null);

/** Reads own properties only: a label may be named "constructor". */
export const fieldOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

export const withoutField = <T>(record: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));

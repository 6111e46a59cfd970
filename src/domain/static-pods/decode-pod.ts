/**
 * Decodes a parsed manifest to a Pod, as the API server would read it. Unknown fields and nulls are dropped, quantities
 * get their canonical form, and absent required fields are empty. A value of the wrong type refuses the whole manifest
 * with the path of its field. No defaults are set.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { podShapes } from "../../api/gen/pod-shapes.ts";
import { BugError } from "../../base/assert.ts";
import { canonicalQuantity } from "../../base/quantity-text.ts";

export type Decoded<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "refused"; readonly reason: string };

/** Deeper than any meaningful manifest. */
const DEPTH_MAX = 64;

export function decodePod(manifest: unknown): Decoded<Pod> {
  if (!isRecord(manifest)) return refused("not a Kubernetes object");
  const { kind, apiVersion } = manifest;
  if (typeof kind !== "string" || kind === "") return refused("Object 'Kind' is missing");
  if (typeof apiVersion !== "string" || apiVersion === "") return refused("Object 'apiVersion' is missing");
  if (kind !== "Pod" || apiVersion !== "v1") return refused(`a ${kind} of ${apiVersion} is not a Pod of v1`);
  try {
    // The table defines the shape, and it was generated from the same documents as the type.
    return { kind: "ok", value: decode("#Pod", manifest, "", 0) as Pod };
  } catch (error) {
    if (error instanceof ShapeError) return refused(error.message);
    throw error;
  }
}

/** The items of a list of pods, which a URL may serve. Undefined if the manifest is something else. */
export function podListItems(manifest: unknown): readonly unknown[] | undefined {
  if (!isRecord(manifest) || manifest["apiVersion"] !== "v1") return undefined;
  const { kind, items } = manifest;
  if (kind !== "PodList" || !(items === undefined || items === null || Array.isArray(items))) return undefined;
  // Items of a typed list omit their kind and version.
  return (items ?? []).map((item: unknown) => (isRecord(item) ? { ...item, kind: "Pod", apiVersion: "v1" } : item));
}

class ShapeError extends Error {}

const refused = (reason: string) => ({ kind: "refused", reason }) as const;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function decode(word: string, value: unknown, path: string, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new ShapeError(`${path}: nested too deeply`);
  if (word.startsWith("[]")) {
    if (!Array.isArray(value)) throw wrong(path, "a list", value);
    return value.map((item: unknown, index) => decodeItem(word.slice(2), item, `${path}[${index}]`, depth + 1));
  }
  if (word.startsWith("{}")) return decodeMap(word.slice(2), value, path, depth + 1);
  if (word.startsWith("#")) return decodeStruct(word.slice(1), value, path, depth + 1);
  return decodeScalar(word, value, path);
}

/** A null in a list of objects stands for an empty object; in other lists it is an error. */
function decodeItem(word: string, value: unknown, path: string, depth: number): unknown {
  if (value !== null && value !== undefined) return decode(word, value, path, depth);
  if (word.startsWith("#")) return {};
  throw wrong(path, word, null);
}

function decodeMap(word: string, value: unknown, path: string, depth: number): unknown {
  if (!isRecord(value)) throw wrong(path, "a map", value);
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    item === null && word === "string" ? "" : decode(word, item, `${path}[${key}]`, depth),
  ]);
  return Object.fromEntries(entries) as unknown;
}

function decodeStruct(name: string, value: unknown, path: string, depth: number): unknown {
  if (!isRecord(value)) throw wrong(path, `a ${name}`, value);
  const entries: [string, unknown][] = [];
  for (const [field, word] of Object.entries(podShapes[name] ?? {})) {
    const item = Object.hasOwn(value, field) ? value[field] : undefined;
    const own = path === "" ? field : `${path}.${field}`;
    const isRequired = word.startsWith("!");
    const plain = isRequired ? word.slice(1) : word;
    // Only fields that the API server maintains have an arbitrary shape; they mean nothing in a manifest.
    if (plain === "any") continue;
    if (item !== undefined && item !== null) entries.push([field, decode(plain, item, own, depth)]);
    else if (isRequired) entries.push([field, decode(plain, emptyOf(plain), own, depth)]);
  }
  return Object.fromEntries(entries);
}

/** The value of a required field that the manifest omits: validation finds it empty, not absent. */
function emptyOf(word: string): unknown {
  if (word.startsWith("[]")) return [];
  if (word.startsWith("{}") || word.startsWith("#")) return {};
  if (word === "boolean") return false;
  return word.startsWith("int") ? 0 : word === "quantity" ? "0" : "";
}

const INT32 = 2 ** 31;

function decodeScalar(word: string, value: unknown, path: string): unknown {
  switch (word) {
    case "string":
    case "bytes":
    case "time":
      if (typeof value !== "string") throw wrong(path, "a string", value);
      return value;
    case "boolean":
      if (typeof value !== "boolean") throw wrong(path, "a boolean", value);
      return value;
    case "int32":
      return integer(value, path, -INT32, INT32 - 1);
    case "int64":
      return integer(value, path, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    case "intOrString":
      return typeof value === "string" ? value : integer(value, path, -INT32, INT32 - 1);
    case "quantity": {
      const text = typeof value === "number" ? String(value) : value;
      const canonical = typeof text === "string" ? canonicalQuantity(text.trim()) : undefined;
      if (canonical === undefined) throw wrong(path, "a quantity", value);
      return canonical;
    }
    default:
      throw new BugError(`no shape has the word ${word}`);
  }
}

function integer(value: unknown, path: string, least: number, most: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw wrong(path, "an integer", value);
  if (value < least || value > most) throw new ShapeError(`${path}: ${value} is out of range`);
  return value === 0 ? 0 : value; // Not minus zero.
}

function wrong(path: string, wanted: string, value: unknown): ShapeError {
  const got = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
  return new ShapeError(`${path === "" ? "the manifest" : path}: expected ${wanted}, got ${got}`);
}

/** One value of a document as the type of its field, or the fault with the words Go's JSON decoder has for it. */
import { assertNever } from "../../base/assert.ts";
import { DurationError, parseGoDuration } from "../../base/duration.ts";
import { parseQuantity, QuantityError } from "../../base/quantity.ts";
import { decodeModuleVerbosities, decodePriorities, decodeReservations, decodeTaints } from "./decode-lists.ts";
import type { Field } from "./field.ts";
import { GO_TYPES, type Value } from "./value-types.ts";

/** The document has a value of another type than the field. Fatal, unlike an unknown field. */
export class DecodeFault extends Error {
  override readonly name = "DecodeFault";
}

/** Where a value stands, for messages: "KubeletConfiguration.maxPods", and the place of an unknown field. */
export interface Place {
  readonly go: string;
  readonly path: string;
  /** Takes the path of each field that is not known. */
  readonly unknown: (path: string) => void;
}

const INT32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
const UINT32 = { min: 0n, max: 2n ** 32n - 1n };
const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

export function decodeLeaf(raw: unknown, { type, goType }: Field, place: Place): Value {
  const name = goType ?? GO_TYPES[type];
  switch (type) {
    case "bool":
      return typeof raw === "boolean" ? raw : mismatch(raw, place, name);
    case "int32":
      return Number(integer(raw, INT32, place, name));
    case "uint32":
      return Number(integer(raw, UINT32, place, name));
    case "int64":
      return integer(raw, INT64, place, name);
    case "float":
      return typeof raw === "number" || typeof raw === "bigint" ? Number(raw) : mismatch(raw, place, name);
    case "string":
      return text(raw, place, name);
    case "duration":
      return duration(text(raw, place, name));
    case "durationOrNs":
      return typeof raw === "bigint" ? raw : duration(text(raw, place, name));
    case "quantity":
      return quantity(typeof raw === "bigint" || typeof raw === "number" ? String(raw) : text(raw, place, name));
    case "strings":
      return list(raw, place, name).map((item) => text(item, place, "string"));
    case "int32s":
      return list(raw, place, name).map((item) => Number(integer(item, INT32, place, "int32")));
    case "stringMap":
      return mapOf(raw, place, name, (item) => text(item, place, "string"));
    case "boolMap":
      return mapOf(raw, place, name, (item) => (typeof item === "boolean" ? item : mismatch(item, place, "bool")));
    case "stringListMap":
      return mapOf(raw, place, name, (item) =>
        list(item, place, "[]string").map((entry) => text(entry, place, "string")),
      );
    case "taints":
      return decodeTaints(list(raw, place, name), place);
    case "memoryReservations":
      return decodeReservations(list(raw, place, name), place);
    case "priorityGracePeriods":
      return decodePriorities(list(raw, place, name), place);
    case "moduleVerbosities":
      return decodeModuleVerbosities(list(raw, place, name), place);
    default:
      return assertNever(type);
  }
}

export function mismatch(raw: unknown, place: Place, goType: string): never {
  throw new DecodeFault(`json: cannot unmarshal ${jsonKind(raw)} into Go struct field ${place.go} of type ${goType}`);
}

function jsonKind(raw: unknown): string {
  if (Array.isArray(raw)) return "array";
  return typeof raw === "bigint" ? "number" : typeof raw === "boolean" ? "bool" : typeof raw;
}

export function integer(
  raw: unknown,
  { min, max }: { readonly min: bigint; readonly max: bigint },
  place: Place,
  goType: string,
): bigint {
  const value = typeof raw === "bigint" ? raw : Number.isSafeInteger(raw) ? BigInt(raw as number) : undefined;
  if (value !== undefined && value >= min && value <= max) return value;
  if (typeof raw !== "number" && typeof raw !== "bigint") return mismatch(raw, place, goType);
  throw new DecodeFault(`json: cannot unmarshal number ${raw} into Go struct field ${place.go} of type ${goType}`);
}

export const int32 = (raw: unknown, place: Place) => Number(integer(raw, INT32, place, "int32"));
export const int64 = (raw: unknown, place: Place) => integer(raw, INT64, place, "int64");
export const verbosity = (raw: unknown, place: Place) => Number(integer(raw, UINT32, place, "v1.VerbosityLevel"));

export const text = (raw: unknown, place: Place, goType: string): string =>
  typeof raw === "string" ? raw : mismatch(raw, place, goType);

export function quantity(written: string) {
  try {
    return parseQuantity(written);
  } catch (error) {
    throw error instanceof QuantityError ? new DecodeFault(error.message) : error;
  }
}

function duration(written: string): bigint {
  try {
    return parseGoDuration(written);
  } catch (error) {
    throw error instanceof DurationError ? new DecodeFault(error.message) : error;
  }
}

const list = (raw: unknown, place: Place, goType: string): readonly unknown[] =>
  Array.isArray(raw) ? (raw as readonly unknown[]) : mismatch(raw, place, goType);

export const isObject = (raw: unknown): raw is Readonly<Record<string, unknown>> =>
  typeof raw === "object" && raw !== null && !Array.isArray(raw);

export function mapOf<T>(
  raw: unknown,
  place: Place,
  goType: string,
  decode: (item: unknown) => T,
): Readonly<Record<string, T>> {
  if (!isObject(raw)) return mismatch(raw, place, goType);
  return Object.fromEntries(
    Object.entries(raw)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, decode(item)]),
  );
}

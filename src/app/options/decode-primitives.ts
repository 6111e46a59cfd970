/** Primitives of decoding: one JSON value becomes a Go type, or an error in the wording of Go's decoder. */
import { parseQuantity, type Quantity, QuantityError } from "../../base/quantity.ts";

/** A value of the document has another type than its field. Fatal, unlike an unknown field. */
export class DecodeFault extends Error {
  override readonly name = "DecodeFault";
}

/** Location of a value for messages: "KubeletConfiguration.maxPods", and the path of an unknown field. */
export interface Place {
  readonly go: string;
  readonly path: string;
  /** Called with the path of each unknown field. */
  readonly unknown: (path: string) => void;
}

export const INT32 = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
export const UINT32 = { min: 0n, max: 2n ** 32n - 1n };
export const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

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

export function quantity(written: string): Quantity {
  try {
    return parseQuantity(written);
  } catch (error) {
    throw error instanceof QuantityError ? new DecodeFault(error.message) : error;
  }
}

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

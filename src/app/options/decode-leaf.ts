/** Decodes one value of a document as the type of its field. */
import { assertNever } from "../../base/assert.ts";
import { DurationError, parseGoDuration } from "../../base/duration.ts";
import { decodeModuleVerbosities, decodePriorities, decodeReservations, decodeTaints } from "./decode-lists.ts";
import {
  DecodeFault,
  INT32,
  INT64,
  integer,
  mapOf,
  mismatch,
  type Place,
  quantity,
  text,
  UINT32,
} from "./decode-primitives.ts";
import type { Field } from "./field.ts";
import { GO_TYPES, type Value } from "./value-types.ts";

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

function duration(written: string): bigint {
  try {
    return parseGoDuration(written);
  } catch (error) {
    throw error instanceof DurationError ? new DecodeFault(error.message) : error;
  }
}

const list = (raw: unknown, place: Place, goType: string): readonly unknown[] =>
  Array.isArray(raw) ? (raw as readonly unknown[]) : mismatch(raw, place, goType);

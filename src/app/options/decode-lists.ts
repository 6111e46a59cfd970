/** Decodes the few fields that are lists of small objects. */
import { int32, int64, isObject, mapOf, mismatch, type Place, quantity, text, verbosity } from "./decode-primitives.ts";
import type { MemoryReservation, ModuleVerbosity, PriorityGracePeriod, Taint } from "./value-types.ts";

type Item = Readonly<Record<string, unknown>>;

function items<T>(
  raw: readonly unknown[],
  place: Place,
  struct: string,
  known: readonly string[],
  decode: (item: Item, at: (key: string) => Place) => T,
): readonly T[] {
  return raw.map((entry, index) => {
    if (!isObject(entry)) return mismatch(entry, place, struct);
    for (const key of Object.keys(entry).toSorted()) {
      if (!known.includes(key)) place.unknown(`${place.path}[${index}].${key}`);
    }
    const at = (key: string): Place => ({ ...place, go: `${struct.replace(/^.*\./, "")}.${place.path}.${key}` });
    return decode(entry, at);
  });
}

const textOr = (raw: unknown, place: Place) => (raw === undefined || raw === null ? "" : text(raw, place, "string"));

export const decodeTaints = (raw: readonly unknown[], place: Place): readonly Taint[] =>
  items(raw, place, "v1.Taint", ["key", "value", "effect", "timeAdded"], (item, at) => ({
    key: textOr(item["key"], at("key")),
    value: textOr(item["value"], at("value")),
    effect: textOr(item["effect"], at("effect")),
    timeAdded: textOr(item["timeAdded"], at("timeAdded")) || undefined,
  }));

export const decodeReservations = (raw: readonly unknown[], place: Place): readonly MemoryReservation[] =>
  items(raw, place, "v1beta1.MemoryReservation", ["numaNode", "limits"], (item, at) => ({
    numaNode: int32(item["numaNode"] ?? 0n, at("numaNode")),
    limits: mapOf(item["limits"] ?? {}, at("limits"), "v1.ResourceList", (entry) =>
      quantity(typeof entry === "bigint" ? String(entry) : text(entry, at("limits"), "resource.Quantity")),
    ),
  }));

export const decodePriorities = (raw: readonly unknown[], place: Place): readonly PriorityGracePeriod[] =>
  items(
    raw,
    place,
    "v1beta1.ShutdownGracePeriodByPodPriority",
    ["priority", "shutdownGracePeriodSeconds"],
    (item, at) => ({
      priority: int32(item["priority"] ?? 0n, at("priority")),
      shutdownGracePeriodSeconds: int64(item["shutdownGracePeriodSeconds"] ?? 0n, at("shutdownGracePeriodSeconds")),
    }),
  );

export const decodeModuleVerbosities = (raw: readonly unknown[], place: Place): readonly ModuleVerbosity[] =>
  items(raw, place, "v1.VModuleItem", ["filePattern", "verbosity"], (item, at) => ({
    filePattern: textOr(item["filePattern"], at("filePattern")),
    verbosity: verbosity(item["verbosity"] ?? 0n, at("verbosity")),
  }));

/** What two agents said of the same pod on two nodes, without what cannot be the same: ids, times, addresses, names. */
import type { Event, Pod } from "../../src/api/gen/core-v1.ts";

/** Fields of a pod's status that no part of this project writes yet, each with the ledger row it belongs to. */
const NOT_BUILT = { resources: "8.5", allocatedResources: "8.5" } as const;

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const CONTAINER_ID = /\b[0-9a-f]{64}\b(?<!sha256:[0-9a-f]{64})/g;
const ADDRESS = /\b198\.1[89]\.\d+\.\d+\b/g;

export function neutralText(text: string, pod: Pod): string {
  const { name = "", uid = "" } = pod.metadata ?? {};
  const neutral = name.replace(/-[^-]+$/, "");
  return text
    .replaceAll(name, neutral)
    .replaceAll(uid, "<uid>")
    .replace(TIME, "<time>")
    .replace(CONTAINER_ID, "<id>")
    .replace(ADDRESS, "<address>");
}

/** The status with its lists in the order they have. */
export function neutralStatus(pod: Pod): unknown {
  const status = Object.entries(pod.status ?? {}).filter(([field]) => !(field in NOT_BUILT));
  return JSON.parse(neutralText(JSON.stringify(sorted(Object.fromEntries(status))), pod));
}

/** How often each thing was said, whoever aggregated it how. */
export function neutralEvents(events: readonly Event[], pod: Pod): ReadonlyMap<string, number> {
  const told = new Map<string, number>();
  for (const { type, reason, message, count, involvedObject } of events) {
    const text = neutralText(`${type} ${reason} ${involvedObject.fieldPath ?? "-"} ${message}`, pod);
    told.set(text, (told.get(text) ?? 0) + (count ?? 1));
  }
  return told;
}

/** With the keys of every object in order, so that two renderings can be compared as text. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

/**
 * An agent's published pod data, without what differs between nodes, clusters and machines: ids, times, addresses,
 * names.
 */
import type { Event, Pod } from "../../src/api/gen/core-v1.ts";
import { withImageNames } from "./image-digests.ts";

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** Deckhand's addition to the Go kubelet's message about a pending restart. */
const NEXT_RESTART = /; restart \d+ at <time>, after exit code \d+/g;
const CONTAINER_ID = /\b[0-9a-f]{64}\b(?<!sha256:[0-9a-f]{64})/g;
const ADDRESS = /\b198\.1[89]\.\d+\.\d+\b/g;

export function neutralText(text: string, pod: Pod): string {
  const { name = "", uid = "" } = pod.metadata ?? {};
  const neutral = name.replace(/-[^-]+$/, "");
  const named = text
    .replaceAll(name, neutral)
    .replaceAll(uid, "<uid>")
    .replace(TIME, "<time>")
    .replace(NEXT_RESTART, "")
    .replace(CONTAINER_ID, "<id>")
    .replace(ADDRESS, "<address>");
  return withImageNames(named);
}

/**
 * Only Deckhand reports a termination that exceeds its grace period (`stuck-ends` tests it). On a busy machine any
 * termination may.
 */
const BLOCKED = "TerminationBlocked";

export const reportedByBoth = (events: readonly Event[]): readonly Event[] =>
  events.filter(({ reason }) => reason !== BLOCKED);

/**
 * The status with its lists in their published order, without the resources of the pod as a whole. The Go kubelet
 * publishes those one sync later, so other tests compare them once pods have settled.
 */
export function neutralStatus(pod: Pod): object {
  const { resources: _, conditions, ...status } = pod.status ?? {};
  const shared = conditions?.filter(({ type }) => type !== BLOCKED);
  return JSON.parse(neutralText(JSON.stringify(sorted({ ...status, conditions: shared })), pod)) as object;
}

/** The number of times each event was reported, independent of how the agent aggregated it. */
export function neutralEvents(events: readonly Event[], pod: Pod): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { type, reason, message, count, involvedObject } of reportedByBoth(events)) {
    const text = neutralText(`${type} ${reason} ${involvedObject.fieldPath ?? "-"} ${message}`, pod);
    counts.set(text, (counts.get(text) ?? 0) + (count ?? 1));
  }
  return counts;
}

/** Sorts the keys of every object, so that two values can be compared as text. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

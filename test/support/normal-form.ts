/** What an agent publishes of a pod, without what differs between nodes, clusters and machines: ids, times, addresses, names. */
import type { Event, Pod } from "../../src/api/gen/core-v1.ts";
import { withImageNames } from "./image-digests.ts";

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** What Deckhand adds to the Go kubelet's words of a restart that waits. */
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

/** Only Deckhand reports a termination that takes longer than its grace period (`stuck-ends` tests it); on a busy machine any may. */
const BLOCKED = "TerminationBlocked";

export const toldByBoth = (events: readonly Event[]): readonly Event[] =>
  events.filter(({ reason }) => reason !== BLOCKED);

/**
 * The status with its lists in the order they have, without the resources of the pod as a whole: the Go kubelet publishes those one sync later, so
 * they are compared where pods have come to rest.
 */
export function neutralStatus(pod: Pod): object {
  const { resources: _, conditions, ...status } = pod.status ?? {};
  const shared = conditions?.filter(({ type }) => type !== BLOCKED);
  return JSON.parse(neutralText(JSON.stringify(sorted({ ...status, conditions: shared })), pod)) as object;
}

/** How often each event was reported, however the agent aggregated it. */
export function neutralEvents(events: readonly Event[], pod: Pod): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { type, reason, message, count, involvedObject } of toldByBoth(events)) {
    const text = neutralText(`${type} ${reason} ${involvedObject.fieldPath ?? "-"} ${message}`, pod);
    counts.set(text, (counts.get(text) ?? 0) + (count ?? 1));
  }
  return counts;
}

/** With the keys of every object in order, so that two renderings can be compared as text. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

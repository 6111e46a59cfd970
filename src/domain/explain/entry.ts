/**
 * A journal record as `explain` reads it: of a kind that this version knows, or of an unknown kind, which is passed on
 * by name.
 */
import { parseJournalRecord } from "../journal/parse-record.ts";
import type { JournalRecord } from "../journal/records.ts";

export interface UnknownRecord {
  readonly kind: "unknown";
  /** The kind in the record. */
  readonly name: string;
  readonly uid: string;
  readonly pod: string;
  readonly wallMs: number;
}

export type Entry = JournalRecord | UnknownRecord;

/** `text`: why there is no explanation, for the user. */
export type Answer<T> =
  | { readonly kind: "found"; readonly explanation: T }
  | { readonly kind: "unknown"; readonly text: string };

/** Undefined for a value that does not name its pod. */
export function toEntry(value: unknown): Entry | undefined {
  const known = parseJournalRecord(value);
  if (known !== undefined) return known;
  if (typeof value !== "object" || value === null) return undefined;
  const { kind, uid, pod, wallMs } = value as Readonly<Record<string, unknown>>;
  const fits =
    typeof kind === "string" && typeof uid === "string" && typeof pod === "string" && typeof wallMs === "number";
  return fits ? { kind: "unknown", name: kind, uid, pod, wallMs } : undefined;
}

/** The container's name in `spec.initContainers{setup}`, and the list that contains the container. */
export function partOf(on: string): { readonly list: string; readonly name: string } | undefined {
  const parts = /^spec\.(?<list>\w+)\{(?<name>.*)\}$/.exec(on)?.groups;
  return parts === undefined ? undefined : { list: parts["list"] ?? "", name: parts["name"] ?? "" };
}

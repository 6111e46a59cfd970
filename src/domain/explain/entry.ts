/** A record as whoever explains reads it: one that this version knows, or one of a kind that it does not, which is passed on by its name. */
import { parseJournalRecord } from "../journal/parse-record.ts";
import type { JournalRecord } from "../journal/records.ts";

export interface UnknownRecord {
  readonly kind: "unknown";
  /** What its writer calls it. */
  readonly name: string;
  readonly uid: string;
  readonly pod: string;
  readonly wallMs: number;
}

export type Entry = JournalRecord | UnknownRecord;

/** Undefined for what does not even say of which pod it is. */
export function toEntry(value: unknown): Entry | undefined {
  const known = parseJournalRecord(value);
  if (known !== undefined) return known;
  if (typeof value !== "object" || value === null) return undefined;
  const { kind, uid, pod, wallMs } = value as Readonly<Record<string, unknown>>;
  const fits =
    typeof kind === "string" && typeof uid === "string" && typeof pod === "string" && typeof wallMs === "number";
  return fits ? { kind: "unknown", name: kind, uid, pod, wallMs } : undefined;
}

/** The container's name in `spec.initContainers{setup}`, and which list it stands in. */
export function partOf(on: string): { readonly list: string; readonly name: string } | undefined {
  const parts = /^spec\.(?<list>\w+)\{(?<name>.*)\}$/.exec(on)?.groups;
  return parts === undefined ? undefined : { list: parts["list"] ?? "", name: parts["name"] ?? "" };
}

/** Turns what was read back from disk into a record, or into nothing when it is none that this version knows. */
import type { JournalRecord } from "./records.ts";

type Kind = JournalRecord["kind"];
type Field = "text" | "number" | readonly string[];

/** A field that a record gains does not compile before it is here. */
const shapes: {
  readonly [K in Kind]: { readonly [F in Exclude<keyof Extract<JournalRecord, { kind: K }>, "kind">]: Field };
} = {
  admitted: { uid: "text", pod: "text", wallMs: "number" },
  rejected: { uid: "text", pod: "text", wallMs: "number", reason: "text", message: "text" },
  terminating: { uid: "text", pod: "text", wallMs: "number", graceSeconds: "number", why: "text" },
  exited: {
    uid: "text",
    pod: "text",
    wallMs: "number",
    container: "text",
    containerId: "text",
    exitCode: "number",
    reason: "text",
    startedWallNs: "text",
    finishedWallNs: "text",
    restartCount: "number",
  },
  terminal: { uid: "text", pod: "text", wallMs: "number", phase: ["Succeeded", "Failed"] },
  finished: { uid: "text", pod: "text", wallMs: "number" },
  mounting: { uid: "text", pod: "text", wallMs: "number", volume: "text", path: "text" },
  staticPod: { uid: "text", pod: "text", wallMs: "number", source: "text", contentHash: "text", configHash: "text" },
  decision: { uid: "text", pod: "text", wallMs: "number", what: "text", why: "text" },
};

const fieldsByKind: ReadonlyMap<unknown, readonly (readonly [string, Field])[]> = new Map(
  Object.entries(shapes).map(([kind, shape]) => [kind, Object.entries(shape)]),
);

export function parseJournalRecord(value: unknown): JournalRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as Readonly<Record<string, unknown>>;
  const fields = fieldsByKind.get(record["kind"]);
  const fits = fields?.every(([name, field]) => matches(record[name], field)) ?? false;
  return fits ? (value as JournalRecord) : undefined;
}

function matches(value: unknown, field: Field): boolean {
  if (field === "text") return typeof value === "string";
  if (field === "number") return typeof value === "number";
  return typeof value === "string" && field.includes(value);
}

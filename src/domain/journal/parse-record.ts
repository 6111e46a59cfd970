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
  staticPod: { uid: "text", pod: "text", wallMs: "number", source: "text", contentHash: "text", configHash: "text" },
  decision: { uid: "text", pod: "text", wallMs: "number", what: "text", why: "text" },
};

export function parseJournalRecord(value: unknown): JournalRecord | undefined {
  if (typeof value !== "object" || value === null || !("kind" in value)) return undefined;
  const { kind } = value;
  if (typeof kind !== "string" || !Object.hasOwn(shapes, kind)) return undefined;
  const shape: Readonly<Record<string, Field>> = shapes[kind as Kind];
  const fields = new Map(Object.entries(value));
  const fits = Object.entries(shape).every(([name, field]) => matches(fields.get(name), field));
  return fits ? (value as JournalRecord) : undefined;
}

function matches(value: unknown, field: Field): boolean {
  if (field === "text") return typeof value === "string";
  if (field === "number") return typeof value === "number";
  return typeof value === "string" && field.includes(value);
}

/**
 * Parses a value that was read back from disk. The result is undefined for a record that this version does not know.
 * Decisions of earlier versions are upgraded.
 */
import { isContainerAllocations } from "../allocation/pod-allocation.ts";
import { TERMINATION_STEPS } from "../pod/ending.ts";
import { isAllocation } from "../resize/checkpoint.ts";
import { DECISION_VERSION, isDecision, upgradeDecision } from "./decisions.ts";
import type { JournalRecord } from "./records.ts";

type Kind = JournalRecord["kind"];
type Field =
  | "text"
  | "number"
  | "allocation"
  | "containerAllocations"
  | "decision"
  | "decisionVersion"
  | readonly string[];

const VERDICTS = ["success", "failure", "unknown"];

/** A field that is added to a record does not compile until it is listed here. */
const shapes: {
  readonly [K in Kind]: { readonly [F in Exclude<keyof Extract<JournalRecord, { kind: K }>, "kind">]: Field };
} = {
  admitted: { uid: "text", pod: "text", wallMs: "number" },
  rejected: { uid: "text", pod: "text", wallMs: "number", reason: "text", message: "text" },
  allocated: {
    uid: "text",
    pod: "text",
    wallMs: "number",
    generation: "number",
    allocation: "allocation",
    containerAllocations: "containerAllocations",
  },
  resized: { uid: "text", pod: "text", wallMs: "number", generation: "number" },
  restartForResize: { uid: "text", pod: "text", wallMs: "number", container: "text", containerId: "text" },
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
  hook: {
    uid: "text",
    pod: "text",
    wallMs: "number",
    container: "text",
    containerId: "text",
    hook: ["postStartDue", "postStartDone", "preStopDone"],
  },
  restarting: { uid: "text", pod: "text", wallMs: "number", container: "text", what: "text", delayMs: "number" },
  restartingAll: { uid: "text", pod: "text", wallMs: "number" },
  ending: {
    uid: "text",
    pod: "text",
    wallMs: "number",
    step: TERMINATION_STEPS,
    state: ["begun", "failed", "done"],
    attempts: "number",
    error: "text",
  },
  terminal: { uid: "text", pod: "text", wallMs: "number", phase: ["Succeeded", "Failed"] },
  finished: { uid: "text", pod: "text", wallMs: "number" },
  probed: {
    uid: "text",
    pod: "text",
    wallMs: "number",
    container: "text",
    containerId: "text",
    startup: VERDICTS,
    liveness: VERDICTS,
    readiness: VERDICTS,
  },
  mounting: { uid: "text", pod: "text", wallMs: "number", volume: "text", path: "text" },
  staticPod: { uid: "text", pod: "text", wallMs: "number", source: "text", contentHash: "text", configHash: "text" },
  decision: { uid: "text", pod: "text", wallMs: "number", version: "decisionVersion", decision: "decision" },
  told: { uid: "text", pod: "text", wallMs: "number", on: "text", reason: "text", why: "text", times: "number" },
  nodeState: {
    uid: "text",
    pod: "text",
    wallMs: "number",
    subject: "text",
    state: "text",
    sinceWallMs: "number",
    reason: "text",
    why: "text",
  },
};

const fieldsByKind: ReadonlyMap<unknown, readonly (readonly [string, Field])[]> = new Map(
  Object.entries(shapes).map(([kind, shape]) => [kind, Object.entries(shape)]),
);

export function parseJournalRecord(value: unknown): JournalRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = upgraded(value as Readonly<Record<string, unknown>>);
  const fields = fieldsByKind.get(record["kind"]);
  const fits = fields?.every(([name, field]) => matches(record[name], field)) ?? false;
  return fits ? (record as unknown as JournalRecord) : undefined;
}

function upgraded(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { what, why, ...others } = record;
  const isVersion1 = others["kind"] === "decision" && others["version"] === undefined;
  if (!isVersion1 || typeof what !== "string" || typeof why !== "string") return record;
  return { ...others, version: DECISION_VERSION, decision: upgradeDecision(what, why) };
}

function matches(value: unknown, field: Field): boolean {
  if (field === "text") return typeof value === "string";
  if (field === "number") return typeof value === "number";
  if (field === "allocation") return isAllocation(value);
  if (field === "containerAllocations") return value === undefined || isContainerAllocations(value);
  if (field === "decision") return isDecision(value);
  if (field === "decisionVersion") return value === DECISION_VERSION;
  return typeof value === "string" && field.includes(value);
}

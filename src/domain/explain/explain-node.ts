/**
 * Answers "what is the state of this node?" from the journal's records alone: its conditions, and what the agent waits
 * for. Waits that an earlier process of the agent recorded do not count.
 */
import type { Entry } from "./entry.ts";
import { shortTime } from "./format-time.ts";
import type { NodeStateRecord } from "./node-states.ts";
import { COLUMNS, hanging, jsonText, wrapped } from "./terminal-text.ts";

export interface NodeExplanation {
  readonly sentence: string;
  /** When the agent was started last; undefined: the journal does not say. */
  readonly agentStartedWallMs: number | undefined;
  readonly conditions: readonly ExplainedCondition[];
  readonly waitsFor: readonly ExplainedWait[];
}

interface ExplainedCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly sinceWallMs: number;
}

interface ExplainedWait {
  readonly what: string;
  readonly why: string;
  readonly sinceWallMs: number;
}

/** Undefined when no record is about the node. The records are in the order in which they were written. */
export function explainNode(entries: readonly Entry[]): NodeExplanation | undefined {
  const last = new Map<string, NodeStateRecord>();
  let agentStartedWallMs: number | undefined;
  for (const entry of entries) {
    if (entry.kind === "nodeState") last.set(entry.subject, entry);
    if (entry.kind === "decision" && entry.decision.kind === "startAgent") {
      agentStartedWallMs = entry.wallMs;
      for (const subject of last.keys()) if (subject.startsWith(WAIT)) last.delete(subject);
    }
  }
  if (last.size === 0 && agentStartedWallMs === undefined) return undefined;
  const conditions = [...last].flatMap(([subject, { state: status, reason, why: message, sinceWallMs }]) =>
    subject.startsWith(CONDITION)
      ? [{ type: subject.slice(CONDITION.length), status, reason, message, sinceWallMs }]
      : [],
  );
  const waitsFor = [...last].flatMap(([subject, { state, why, sinceWallMs }]) =>
    subject.startsWith(WAIT) && state === "waiting" ? [{ what: subject.slice(WAIT.length), why, sinceWallMs }] : [],
  );
  return { sentence: sentenceOf(conditions, waitsFor), agentStartedWallMs, conditions, waitsFor };
}

const CONDITION = "condition/";
const WAIT = "wait/";

function sentenceOf(conditions: readonly ExplainedCondition[], waitsFor: readonly ExplainedWait[]): string {
  const ready = conditions.find(({ type }) => type === "Ready");
  const pressure = conditions.filter(({ type, status }) => type.endsWith("Pressure") && status === "True");
  const parts = [
    ready === undefined
      ? "The agent has not determined the node's conditions yet."
      : ready.status === "True"
        ? "The node is ready."
        : `The node is not ready: ${ready.message}.`,
    ...pressure.map(({ type, message }) => `${type}: ${message}.`),
    ...(waitsFor.length === 0 ? [] : [`The agent waits for ${waitsFor.map(({ what }) => what).join(", ")}.`]),
  ];
  return parts.join(" ");
}

export function nodeExplanationText(explanation: NodeExplanation, nowWallMs: number): string {
  const { sentence, agentStartedWallMs, conditions, waitsFor } = explanation;
  const time = (wallMs: number) => shortTime(wallMs, nowWallMs);
  const started = agentStartedWallMs === undefined ? "" : `; the agent was started at ${time(agentStartedWallMs)}`;
  const width = Math.max(0, ...conditions.map(({ type }) => type.length));
  const lines = [
    `This node, as its agent knows it at ${time(nowWallMs)} UTC${started}:`,
    "",
    ...wrapped(sentence, COLUMNS),
    "",
    ...conditions.flatMap(({ type, status, reason, message, sinceWallMs }) =>
      hanging(
        `${type.padEnd(width)}  ${status.padEnd("Unknown".length)}  `,
        `${reason} since ${time(sinceWallMs)}: ${message}`,
      ),
    ),
    ...waitsFor.flatMap(({ what, why, sinceWallMs }) =>
      hanging(`waits since ${time(sinceWallMs)} for `, `${what}: ${why}`),
    ),
  ];
  return `${lines.join("\n")}\n`;
}

export function nodeExplanationJson({ agentStartedWallMs, conditions, waitsFor, sentence }: NodeExplanation): string {
  const at = (wallMs: number) => new Date(wallMs).toISOString();
  const shown = {
    sentence,
    agentStarted: agentStartedWallMs === undefined ? undefined : at(agentStartedWallMs),
    conditions: conditions.map(({ sinceWallMs, ...condition }) => ({ ...condition, since: at(sinceWallMs) })),
    waitsFor: waitsFor.map(({ sinceWallMs, ...waited }) => ({ ...waited, since: at(sinceWallMs) })),
  };
  return jsonText(shown);
}

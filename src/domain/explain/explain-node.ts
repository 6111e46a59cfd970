/**
 * Answers "what is the state of this node?" from the journal's records alone: its conditions, what the agent waits for,
 * and the last evictions with the tables behind them. Waits that an earlier process of the agent recorded do not count.
 */
import type { Entry } from "./entry.ts";
import { evictionText } from "./eviction-text.ts";
import { shortTime } from "./format-time.ts";
import { CONDITION, type NodeStateRecord, REMOVED, WAIT } from "./node-states.ts";
import { COLUMNS, hanging, jsonText, wrapped } from "./terminal-text.ts";

export interface NodeExplanation {
  readonly sentence: string;
  /** When the agent was started last; undefined: the journal does not say. */
  readonly agentStartedWallMs: number | undefined;
  /** The time of the newest record. */
  readonly lastRecordWallMs: number;
  readonly conditions: readonly ExplainedCondition[];
  readonly waitsFor: readonly ExplainedWait[];
  /** The newest last. */
  readonly evictions: readonly ExplainedEviction[];
}

interface ExplainedEviction {
  readonly pod: string;
  readonly signal: string;
  /** The message of the pod's status, and what the decision was based on. */
  readonly why: string;
  readonly wallMs: number;
}

const EVICTIONS_SHOWN = 5;

interface ExplainedCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly sinceWallMs: number;
  /** False: recorded before the last start of the agent. */
  readonly isCurrent: boolean;
}

interface ExplainedWait {
  readonly what: string;
  readonly why: string;
  readonly sinceWallMs: number;
}

/** Undefined when no record is about the node. The records are in the order in which they were written. */
export function explainNode(entries: readonly Entry[]): NodeExplanation | undefined {
  const last = new Map<string, NodeStateRecord & { readonly isCurrent: boolean }>();
  let agentStartedWallMs: number | undefined;
  for (const entry of entries) {
    if (entry.kind === "nodeState") last.set(entry.subject, { ...entry, isCurrent: true });
    if (entry.kind === "decision" && entry.decision.kind === "startAgent") {
      agentStartedWallMs = entry.wallMs;
      for (const [subject, state] of last) last.set(subject, { ...state, isCurrent: false });
    }
  }
  const evictions = evictionsIn(entries);
  if (last.size === 0 && agentStartedWallMs === undefined && evictions.length === 0) return undefined;
  const conditions = [...last].flatMap(([subject, { state: status, reason, why: message, sinceWallMs, isCurrent }]) =>
    subject.startsWith(CONDITION) && status !== REMOVED
      ? [{ type: subject.slice(CONDITION.length), status, reason, message, sinceWallMs, isCurrent }]
      : [],
  );
  // The first report of a process contains all conditions: what it lacks was removed while no agent ran.
  const current = conditions.filter(({ isCurrent }) => isCurrent);
  const shown = current.length === 0 ? conditions : current;
  const waitsFor = [...last].flatMap(([subject, { state, why, sinceWallMs, isCurrent }]) =>
    subject.startsWith(WAIT) && state === "waiting" && isCurrent
      ? [{ what: subject.slice(WAIT.length), why, sinceWallMs }]
      : [],
  );
  const lastRecordWallMs = entries.at(-1)?.wallMs ?? 0;
  const sentence = sentenceOf(shown, waitsFor);
  return { sentence, agentStartedWallMs, lastRecordWallMs, conditions: shown, waitsFor, evictions };
}

const evictionsIn = (entries: readonly Entry[]): readonly ExplainedEviction[] =>
  entries
    .flatMap((entry) => {
      if (entry.kind !== "decision" || entry.decision.kind !== "evict") return [];
      const { pod, wallMs, decision } = entry;
      return [{ pod, signal: decision.signal, why: `${decision.why.trim()}${evictionText(decision)}`, wallMs }];
    })
    .slice(-EVICTIONS_SHOWN);

function sentenceOf(conditions: readonly ExplainedCondition[], waitsFor: readonly ExplainedWait[]): string {
  const ready = conditions.find(({ type }) => type === "Ready");
  const pressure = conditions.filter(
    ({ type, status, isCurrent }) => isCurrent && type.endsWith("Pressure") && status === "True",
  );
  const parts = [
    readySentence(ready),
    ...pressure.map(({ type, message }) => `${type}: ${message}.`),
    ...(waitsFor.length === 0 ? [] : [`The agent waits for ${waitsFor.map(({ what }) => what).join(", ")}.`]),
  ];
  return parts.join(" ");
}

/** A node without an API server has no conditions. */
function readySentence(ready: ExplainedCondition | undefined): string {
  if (ready === undefined) return "The agent has determined no conditions of the node.";
  const state = ready.status === "True" ? "ready" : `not ready: ${ready.message}`;
  if (ready.isCurrent) return `The node is ${state}.`;
  return `The agent has determined no conditions of the node since its start; before, the node was ${state}.`;
}

export function nodeExplanationText(explanation: NodeExplanation, nowWallMs: number): string {
  const { sentence, agentStartedWallMs, lastRecordWallMs, conditions, waitsFor, evictions } = explanation;
  const time = (wallMs: number) => shortTime(wallMs, nowWallMs);
  const started = agentStartedWallMs === undefined ? "" : `; the agent was started at ${time(agentStartedWallMs)}`;
  const width = Math.max(0, ...conditions.map(({ type }) => type.length));
  const lines = [
    `This node, as its agent recorded it until ${time(lastRecordWallMs)} UTC${started}:`,
    "",
    ...wrapped(sentence, COLUMNS),
    "",
    ...conditions.flatMap(({ type, status, reason, message, sinceWallMs, isCurrent }) =>
      hanging(
        `${type.padEnd(width)}  ${status.padEnd("Unknown".length)}  `,
        `${reason} since ${time(sinceWallMs)}: ${message}${isCurrent ? "" : " (before the last start of the agent)"}`,
      ),
    ),
    ...waitsFor.flatMap(({ what, why, sinceWallMs }) =>
      hanging(`waits since ${time(sinceWallMs)} for `, `${what}: ${why}`),
    ),
    ...evictions.flatMap(({ pod, why, wallMs }) => hanging(`evicted at ${time(wallMs)}: `, `${pod}: ${why}`)),
  ];
  return `${lines.join("\n")}\n`;
}

export function nodeExplanationJson(explanation: NodeExplanation): string {
  const { sentence, agentStartedWallMs, lastRecordWallMs, conditions, waitsFor, evictions } = explanation;
  const at = (wallMs: number) => new Date(wallMs).toISOString();
  const shown = {
    sentence,
    agentStarted: agentStartedWallMs === undefined ? undefined : at(agentStartedWallMs),
    lastRecord: at(lastRecordWallMs),
    conditions: conditions.map(({ sinceWallMs, ...condition }) => ({ ...condition, since: at(sinceWallMs) })),
    waitsFor: waitsFor.map(({ sinceWallMs, ...waited }) => ({ ...waited, since: at(sinceWallMs) })),
    evictions: evictions.map(({ wallMs, ...eviction }) => ({ ...eviction, at: at(wallMs) })),
  };
  return jsonText(shown);
}

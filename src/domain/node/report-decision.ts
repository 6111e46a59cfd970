/**
 * When a node's status is written: at once when something changed, otherwise rarely. In between, the Lease shows that
 * the agent is alive.
 */
import type { Node, NodeStatus } from "../../api/gen/core-v1.ts";
import { fieldNames, isJsonObject, jsonEqual } from "../../base/json-equal.ts";

export interface LastReport {
  readonly atMs: number;
  /** Added to the period once, so that nodes that changed together do not report together from then on. */
  readonly delayMs: number;
}

export type ReportDecision =
  | { readonly kind: "skip" }
  /** `delayMs` belongs to the report that is made now. */
  | { readonly kind: "report"; readonly delayMs: number };

export interface ReportInputs {
  readonly changed: boolean;
  /** Undefined before the first report of this process. */
  readonly last: LastReport | undefined;
  readonly nowMs: number;
  readonly reportEveryMs: number;
  /** A random number, from 0 up to 1. */
  readonly fraction: number;
}

export function decideReport({ changed, last, nowMs, reportEveryMs, fraction }: ReportInputs): ReportDecision {
  if (changed || last === undefined) return { kind: "report", delayMs: reportEveryMs * (fraction - 0.5) };
  if (nowMs - last.atMs >= reportEveryMs + last.delayMs) return { kind: "report", delayMs: 0 };
  return { kind: "skip" };
}

/** How long until the status is computed again. */
export const nextLookMs = (updateEveryMs: number, fraction: number): number => updateEveryMs * (1 + 0.04 * fraction);

/** The interval at which a node that has just started and is not ready yet is checked. */
export const FAST_LOOK_MS = 100;
/** How long a node is checked at that interval at most. */
export const FAST_FOR_MS = 120_000;

/**
 * Whether anything but the heartbeat differs. The order of conditions does not matter, and an empty list equals an
 * absent one.
 */
export function nodeChanged(known: Node, target: Node): boolean {
  return !jsonEqual(essence(known), essence(target));
}

const essence = ({ metadata, status = {} }: Node) =>
  withoutEmpty({ labels: metadata?.labels, annotations: metadata?.annotations, status: statusEssence(status) });

function statusEssence({ conditions = [], ...rest }: NodeStatus): unknown {
  const sorted = conditions.toSorted((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0));
  return { ...rest, conditions: sorted.map((condition) => ({ ...condition, lastHeartbeatTime: undefined })) };
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutEmpty);
  if (!isJsonObject(value)) return value ?? undefined;
  const entries = fieldNames(value)
    .map((name) => [name, withoutEmpty(value[name])] as const)
    .filter(([, field]) => field !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

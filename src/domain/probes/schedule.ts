/**
 * When a probe is due. All times are monotonic; `sinceMs` is when it first could have been asked: the container's start, or the success of its startup
 * probe where that came later.
 *
 * Readiness is asked at once, and until the first good answer a few times more within the first period: it is what people wait for. The others are
 * asked after the delay they have, else after a period: an application that has only just started fails a first question that it was
 * given no time for, and for one failure in a row some are killed.
 */
import type { ProbeSpec } from "./probe-spec.ts";

/** Between the first questions; each gap is twice the one before. An exec costs the machine more than its answer is worth. */
const EARLY_GAP_MS = 250;
const EARLY_EXEC_GAP_MS = 1_000;

export interface ProbeTimes {
  readonly startedMs: number;
  readonly sinceMs: number;
  readonly nowMs: number;
}

export function firstDueMs(
  { kind, initialDelayMs, periodMs }: Pick<ProbeSpec, "kind" | "initialDelayMs" | "periodMs">,
  { startedMs, sinceMs }: ProbeTimes,
): number {
  const waitsMs = kind === "readiness" || initialDelayMs > 0 ? 0 : periodMs;
  return Math.max(startedMs + initialDelayMs, sinceMs + waitsMs);
}

/** An agent that has only just started finds all probes due: they are spread over their periods. `fraction` is from 0 up to 1. */
export const spreadDueMs = (
  spec: Pick<ProbeSpec, "kind" | "initialDelayMs" | "periodMs">,
  times: ProbeTimes,
  fraction: number,
): number => Math.max(times.startedMs + spec.initialDelayMs, times.nowMs + fraction * spec.periodMs);

/** Whether a question asked at `dueMs` is one of those beside the period: a "no" to it says only "not yet". */
export const isEarly = (
  { kind, periodMs }: Pick<ProbeSpec, "kind" | "periodMs">,
  firstMs: number,
  dueMs: number,
): boolean => kind === "readiness" && dueMs > firstMs && dueMs < firstMs + periodMs;

export interface AskedTimes {
  readonly firstMs: number;
  readonly dueMs: number;
  readonly nowMs: number;
  /** Whether the last answer was a good one: from then on its period counts, also where several in a row are wanted. */
  readonly isWell: boolean;
}

/** After a question that was due at `dueMs`, of a probe whose first one was due at `firstMs`. Questions that were missed are left out. */
export function nextDueMs(
  { kind, periodMs, handler }: Pick<ProbeSpec, "kind" | "periodMs" | "handler">,
  { firstMs, dueMs, nowMs, isWell }: AskedTimes,
): number {
  const sinceFirstMs = dueMs - firstMs;
  if (kind === "readiness" && !isWell && sinceFirstMs < periodMs) {
    const gapMs = (handler.kind === "exec" ? EARLY_EXEC_GAP_MS : EARLY_GAP_MS) + sinceFirstMs;
    return Math.max(nowMs, Math.min(dueMs + gapMs, firstMs + periodMs));
  }
  const periods = Math.floor((Math.max(nowMs, dueMs) - firstMs) / periodMs);
  return firstMs + (periods + 1) * periodMs;
}

/**
 * Computes when a probe is due. All times are monotonic. `sinceMs` is the earliest possible time of a probe: the
 * container's start, or the later success of its startup probe.
 *
 * The readiness probe runs at once, and a few more times within the first period until it succeeds: people wait for it.
 * The other probes run after their initial delay, or else after one period. An application that has just started would
 * fail an immediate probe, and some applications are killed after one failure.
 */
import type { ProbeSpec } from "./probe-spec.ts";

/**
 * The gap between the first probes; each gap is twice the one before. Exec probes get longer gaps because they cost the
 * machine more than an early result is worth.
 */
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

/**
 * A kubelet that has just started finds all probes due: they are spread over their periods. `fraction` is from 0 up to
 * 1.
 */
export const spreadDueMs = (
  spec: Pick<ProbeSpec, "kind" | "initialDelayMs" | "periodMs">,
  times: ProbeTimes,
  fraction: number,
): number => Math.max(times.startedMs + spec.initialDelayMs, times.nowMs + fraction * spec.periodMs);

/** Whether a probe due at `dueMs` is an early one within the first period: its failure only means "not yet". */
export const isEarly = (
  { kind, periodMs }: Pick<ProbeSpec, "kind" | "periodMs">,
  firstMs: number,
  dueMs: number,
): boolean => kind === "readiness" && dueMs > firstMs && dueMs < firstMs + periodMs;

export interface AskedTimes {
  readonly firstMs: number;
  readonly dueMs: number;
  readonly nowMs: number;
  /**
   * Whether the last result was a success. From then on the period applies, also if several successes in a row are
   * required.
   */
  readonly isWell: boolean;
}

/**
 * The next due time after a probe that was due at `dueMs`. `firstMs` is the due time of the first probe. Missed probes
 * are skipped.
 */
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

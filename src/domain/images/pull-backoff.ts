/**
 * How long a pod waits before it pulls an image again after a failed pull: 10 s, doubled with each failure up to 5
 * minutes. A success in between does not reset the delay; ten minutes without a failure do.
 */
import { doublingMs } from "../../base/backoff.ts";

export interface PullBackoff {
  readonly delayMs: number;
  readonly failedMonotonicMs: number;
}

const CURVE = { firstMs: 10_000, maxMs: 300_000 };
const FORGET_MS = 2 * CURVE.maxMs;

export function afterFailedPull(before: PullBackoff | undefined, nowMonotonicMs: number): PullBackoff {
  const isFirst = before === undefined || isForgotten(before, nowMonotonicMs);
  const delayMs = isFirst ? CURVE.firstMs : Math.min(before.delayMs * 2, CURVE.maxMs);
  return { delayMs, failedMonotonicMs: nowMonotonicMs };
}

/** The delay after this many failures in a row. */
export const pullDelayMs = (failures: number): number => doublingMs(CURVE, failures);

/** 0: pull now. */
export const pullBackoffLeftMs = (backoff: PullBackoff, nowMonotonicMs: number): number =>
  Math.max(0, backoff.failedMonotonicMs + backoff.delayMs - nowMonotonicMs);

const isForgotten = ({ failedMonotonicMs }: PullBackoff, nowMonotonicMs: number) =>
  nowMonotonicMs - failedMonotonicMs > FORGET_MS;

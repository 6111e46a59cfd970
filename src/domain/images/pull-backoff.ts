/**
 * How long a pod waits with an image after a failed pull: 10 s, doubled with each failure up to 5 minutes. A success in between changes
 * nothing; ten minutes without a failure do.
 */
export interface PullBackoff {
  readonly delayMs: number;
  readonly failedMonotonicMs: number;
}

const FIRST_MS = 10_000;
const CAP_MS = 300_000;
const FORGET_MS = 2 * CAP_MS;

export function afterFailedPull(before: PullBackoff | undefined, nowMonotonicMs: number): PullBackoff {
  const isFirst = before === undefined || isForgotten(before, nowMonotonicMs);
  const delayMs = isFirst ? FIRST_MS : Math.min(before.delayMs * 2, CAP_MS);
  return { delayMs, failedMonotonicMs: nowMonotonicMs };
}

/** After so many failures in a row. */
export const pullDelayMs = (failures: number): number => Math.min(FIRST_MS * 2 ** (failures - 1), CAP_MS);

/** 0: pull now. */
export const pullBackoffLeftMs = (backoff: PullBackoff, nowMonotonicMs: number): number =>
  Math.max(0, backoff.failedMonotonicMs + backoff.delayMs - nowMonotonicMs);

const isForgotten = ({ failedMonotonicMs }: PullBackoff, nowMonotonicMs: number) =>
  nowMonotonicMs - failedMonotonicMs > FORGET_MS;

/** How long to wait before the next attempt. */
export interface BackoffCurve {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Doubles from `firstMs` to `maxMs`; `failures` counts from 1. */
export const doublingMs = ({ firstMs, maxMs }: BackoffCurve, failures: number): number =>
  Math.min(firstMs * 2 ** (failures - 1), maxMs);

/** `doublingMs` with a jitter of ±25 %, so that many clients do not retry at once. `fraction` is random, in [0, 1). */
export function backoffMs(curve: BackoffCurve, failures: number, fraction: number): number {
  return doublingMs(curve, failures) * (0.75 + fraction / 2);
}

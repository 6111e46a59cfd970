/** How long to wait before the next try. */
export interface BackoffCurve {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Doubling from `firstMs` to `maxMs`; `failures` counts from 1. */
export const doublingMs = ({ firstMs, maxMs }: BackoffCurve, failures: number): number =>
  Math.min(firstMs * 2 ** (failures - 1), maxMs);

/** The same, spread by a quarter either way; `fraction` is chance, from 0 up to 1, so that many clients do not come back at once. */
export function backoffMs(curve: BackoffCurve, failures: number, fraction: number): number {
  return doublingMs(curve, failures) * (0.75 + fraction / 2);
}

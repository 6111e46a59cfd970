/** How long to wait before the next try: doubling from `firstMs` to `maxMs`, spread by a quarter either way. */
export interface BackoffCurve {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** `failures` counts from 1; `fraction` is chance, from 0 up to 1, so that many clients do not come back at once. */
export function backoffMs(curve: BackoffCurve, failures: number, fraction: number): number {
  const plainMs = Math.min(curve.firstMs * 2 ** (failures - 1), curve.maxMs);
  return plainMs * (0.75 + fraction / 2);
}

/** Bounds of histograms: the Go kubelet's, because rules and dashboards name them. */

/** Seconds, for operations that are usually fast. */
export const QUICK_SECONDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Seconds, for the start of pods. */
export const POD_START_SECONDS: readonly number[] = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];

/** Multiplied step by step, so that the bounds are the same numbers to the last digit. */
export function growing(first: number, factor: number, count: number): readonly number[] {
  const bounds: number[] = [];
  let bound = first;
  for (let index = 0; index < count; index += 1) {
    bounds.push(bound);
    bound *= factor;
  }
  return bounds;
}

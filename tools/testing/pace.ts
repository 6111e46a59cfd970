/**
 * How many files of real parts run at once on a machine that is slower than usual. Their limits are promises about a node, not about a machine that
 * others slow down by half: fewer files at once keep the waits of each as short as on the usual machine, and the run takes longer.
 */

/** The fixed work of `hostFacts` in the hours in which four files at once pass without a second try. */
const USUAL_MS = 500;
/** Above this the number of files goes down. */
const SLOW_MS = 600;

export function filesAtOnce(usual: number, fixedWorkMs: number | undefined): number {
  if (fixedWorkMs === undefined || fixedWorkMs <= SLOW_MS) return usual;
  return Math.max(Math.ceil(usual / 2), Math.floor((usual * USUAL_MS) / fixedWorkMs));
}

/**
 * Decides how many files of real parts run at once on a machine that is slower than usual. Their time limits are
 * promises about a node, not about a shared machine that is slowed down by half. Fewer files at once keep each file's
 * waits as short as on the usual machine; the run takes longer.
 */

/** The fixed work of `hostFacts` at times when four files at once pass without a second try. */
const USUAL_MS = 500;
/** Above this, fewer files run at once. */
const SLOW_MS = 600;

export function filesAtOnce(usual: number, fixedWorkMs: number | undefined): number {
  if (fixedWorkMs === undefined || fixedWorkMs <= SLOW_MS) return usual;
  return Math.max(Math.ceil(usual / 2), Math.floor((usual * USUAL_MS) / fixedWorkMs));
}

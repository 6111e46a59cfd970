import type { Clock } from "../ports/clock.ts";
import { linkSignals } from "./abort.ts";

export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  readonly limitMs: number;
  constructor(limitMs: number) {
    super(`no answer within ${limitMs} ms`);
    this.limitMs = limitMs;
  }
}

/**
 * Runs `run` with a signal that aborts with `parent` or after `limitMs`. Leaves no listener and no timer behind. `run`
 * must end when its signal aborts.
 */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number,
  parent: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  parent.throwIfAborted();
  using child = linkSignals(parent);
  const cancelTimer = clock.after(limitMs, () => child.abort(new DeadlineError(limitMs)));
  try {
    return await run(child.signal);
  } finally {
    cancelTimer();
  }
}

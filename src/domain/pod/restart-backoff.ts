/**
 * CrashLoopBackOff. The first restart is immediate; each further one waits 10 s, 20 s, ... from the end of the last
 * run, up to the cap. The backoff resets after a container ran well for ten minutes. The entry belongs to what was run:
 * another image or other resources reset the backoff too.
 */
export interface BackoffEntry {
  readonly delayMs: number;
  /** When the last restart was decided. */
  readonly decidedWallMs: number;
}

export type Backoffs = ReadonlyMap<string, BackoffEntry>;

const FIRST_MS = 10_000;
const FORGET_MS = 600_000;

/**
 * The remaining wait after the end of the last run; 0: restart now. `exit.ageMs` is never negative, whatever the clock
 * did.
 */
export function backoffLeftMs(entry: BackoffEntry | undefined, exit: ExitTime): number {
  if (entry === undefined || isForgotten(entry, exit)) return 0;
  return Math.max(0, entry.delayMs - exit.ageMs);
}

export interface ExitTime {
  readonly finishedWallMs: number;
  readonly ageMs: number;
}

/** The entry after a restart was decided at `wallMs`. */
export function nextBackoff(
  entry: BackoffEntry | undefined,
  exit: ExitTime,
  wallMs: number,
  capMs: number,
): BackoffEntry {
  const delayMs = entry === undefined || isForgotten(entry, exit) ? FIRST_MS : entry.delayMs * 2;
  return { delayMs: Math.min(delayMs, capMs), decidedWallMs: wallMs };
}

const isForgotten = (entry: BackoffEntry, exit: ExitTime) => exit.finishedWallMs - entry.decidedWallMs > FORGET_MS;

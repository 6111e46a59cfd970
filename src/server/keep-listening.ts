/**
 * If the port is taken, listening is retried every five seconds with one log line each time, for as long as the process
 * runs.
 */
import { pause } from "../concurrency/sleep.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

const AGAIN_MS = 5000;

/** `listen` resolves with undefined when the signal aborts, or with the error that ended it. */
export async function keepListening(
  listen: () => Promise<Error | undefined>,
  { clock, log, failure }: { readonly clock: Clock; readonly log: Log; readonly failure: string },
  shutdown: AbortSignal,
): Promise<void> {
  while (!shutdown.aborted) {
    const error = await listen();
    if (error === undefined || shutdown.aborted) return;
    log.error(failure, error);
    await pause(clock, AGAIN_MS, shutdown);
  }
}

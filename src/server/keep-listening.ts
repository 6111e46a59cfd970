/** A port that is taken costs a line in the log every five seconds and nothing else: it is tried again for as long as the process runs. */
import { pause } from "../concurrency/sleep.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

const AGAIN_MS = 5000;

/** `listen` ends by the signal without an answer, or by the error that it answers with. */
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

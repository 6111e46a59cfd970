import type { Clock } from "../ports/clock.ts";

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Like `sleep`, but resolves when the signal aborts: for loops that check the signal themselves. */
export const pause = (clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> =>
  sleep(clock, delayMs, signal).catch(() => undefined);

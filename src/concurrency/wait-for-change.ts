import type { Clock } from "../ports/clock.ts";
import { linkSignals } from "./abort.ts";
import type { Latest } from "./latest-cell.ts";

/**
 * Waits until one of the cells is newer than its `seen`, or until `limitMs` has passed. It leaves no timer and no
 * listener behind.
 */
export async function waitForChange(
  clock: Clock,
  cells: readonly { readonly cell: Latest<unknown>; readonly seen: number }[],
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  using waiting = linkSignals(signal);
  const woken = Promise.withResolvers<void>();
  const cancel = Number.isFinite(limitMs) ? clock.after(limitMs, woken.resolve) : () => {};
  const onAbort = () => woken.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  for (const { cell, seen } of cells) {
    // This rejects only at the end of the wait; the caller's abort is handled above.
    cell.changed(seen, waiting.signal).then(
      () => woken.resolve(),
      () => {},
    );
  }
  try {
    await woken.promise;
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
    waiting.abort(new Error("no longer waiting"));
  }
}

/** Abort signals: child signals that leave no listener on their parents, and how waits and loops end when one aborts. */

/**
 * Creates a child signal of longer-lived parents. `AbortSignal.any` keeps every child for as long as a long-lived
 * parent lives (nodejs/node#54614); here the child is unlinked when its work is done.
 */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

export function linkSignals(...parents: readonly AbortSignal[]): LinkedSignal {
  const child = new AbortController();
  const links: (() => void)[] = [];
  for (const parent of parents) {
    if (parent.aborted) {
      child.abort(parent.reason);
      break;
    }
    const onAbort = () => child.abort(parent.reason);
    parent.addEventListener("abort", onAbort, { once: true });
    links.push(() => parent.removeEventListener("abort", onAbort));
  }
  return {
    signal: child.signal,
    abort: (reason) => child.abort(reason),
    [Symbol.dispose]: () => {
      for (const unlink of links.splice(0)) unlink();
    },
  };
}

/**
 * Waits for `promise`, or rejects with the signal's reason as soon as it aborts. The promise keeps running; the
 * listener is removed.
 */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.catch(() => {}); // Nobody handles a rejection any more.
      reject(signal.reason);
      return;
    }
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** For loops that others wake: resolves at shutdown. */
export const aborted = (shutdown: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (shutdown.aborted) resolve();
    else shutdown.addEventListener("abort", () => resolve(), { once: true });
  });

/** For loops whose waits reject at shutdown, which is not a failure. Returns undefined at shutdown. */
export async function unlessShutDown<T>(shutdown: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!shutdown.aborted) throw error;
    return undefined;
  }
}

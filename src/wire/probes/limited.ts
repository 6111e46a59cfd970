/**
 * A network request as one promise. It ends with its answer, with an error, with its time limit, or when the caller
 * gives up, and leaves nothing behind. It takes one timer and one listener, because a node sends hundreds of requests a
 * second.
 */
import type { Clock } from "../../ports/clock.ts";
import { ProbeError, type ProbeStep } from "../../ports/prober.ts";

export interface Limit {
  readonly clock: Clock;
  readonly limitMs: number;
}

/** The first call counts. */
export interface Asking<T> {
  readonly answer: (value: T) => void;
  readonly fail: (error: unknown) => void;
}

/** A request in progress. */
export interface UnderWay {
  /** The step that the request has reached. */
  readonly step: () => ProbeStep;
  /** The URL of the request; empty if there is none. */
  readonly url: () => string;
  readonly close: () => void;
}

/** Rejects with the request's error, with a `ProbeError` at the time limit, or with the signal's reason. */
export function limited<T>(
  { clock, limitMs }: Limit,
  signal: AbortSignal,
  begin: (asking: Asking<T>) => UnderWay,
): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let isOpen = true;
    const end = (): boolean => {
      if (!isOpen) return false;
      isOpen = false;
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      underWay.close();
      return true;
    };
    const fail = (error: unknown) => {
      if (end()) reject(error);
    };
    const onAbort = () => fail(signal.reason);
    const answer = (value: T) => {
      if (end()) resolve(value);
    };
    const underWay = begin({ answer, fail });
    const cancelTimer = clock.after(limitMs, () =>
      fail(new ProbeError(underWay.step(), "late", `no answer within ${limitMs} ms`, underWay.url())),
    );
    signal.addEventListener("abort", onAbort);
  });
}

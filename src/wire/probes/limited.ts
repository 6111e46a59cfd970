/**
 * A question as one promise: it ends by its answer, by what breaks it, by its time, or when nobody wants it any more, and then nothing of it is
 * left. One timer and one listener each: a node asks hundreds of times a second.
 */
import type { Clock } from "../../ports/clock.ts";
import { ProbeError, type ProbeStep } from "../../ports/prober.ts";

export interface Limit {
  readonly clock: Clock;
  readonly limitMs: number;
}

/** Whichever is called first counts. */
export interface Asking<T> {
  readonly answer: (value: T) => void;
  readonly fail: (error: unknown) => void;
}

/** A question under way. */
export interface UnderWay {
  /** How far it has come. */
  readonly step: () => ProbeStep;
  /** What was asked; empty where there is no URL. */
  readonly url: () => string;
  readonly close: () => void;
}

/** Rejects with what it failed with, with a `ProbeError` when it is late, or with the signal's reason. */
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

/**
 * Shares one reading between callers. A caller joins the running read, or gets the last result if it is younger than
 * `freshMs`. At most one read runs at a time. Within `freshMs` another one starts only for more detail or after a
 * failure. A caller that aborts does not abort the read for the others.
 *
 * A reading with more detail also serves callers that want less.
 */

import type { Clock } from "../ports/clock.ts";
import { raceAbort } from "./abort.ts";

export interface CachedReadingParts<D extends string, T> {
  readonly clock: Clock;
  /** In ascending order of detail. */
  readonly details: readonly D[];
  readonly read: (detail: D) => Promise<T>;
  readonly freshMs?: number;
}

const FRESH_MS = 1_000;

interface Read<D extends string, T> {
  readonly detail: D;
  readonly result: Promise<T>;
  /** Undefined while the read is running. */
  doneMonotonicMs: number | undefined;
}

export class CachedReading<D extends string, T> {
  readonly #parts: CachedReadingParts<D, T>;
  #latest: Read<D, T> | undefined;

  constructor(parts: CachedReadingParts<D, T>) {
    this.#parts = parts;
  }

  async read(detail: D, signal: AbortSignal): Promise<T> {
    for (;;) {
      const latest = this.#latest;
      if (latest !== undefined && this.#isFresh(latest) && this.#serves(latest.detail, detail)) {
        return raceAbort(latest.result, signal);
      }
      if (latest === undefined || latest.doneMonotonicMs !== undefined) {
        return raceAbort(this.#begin(detail).result, signal);
      }
      // A read with less detail is running. Wait for its end; its failure concerns only its own callers.
      await raceAbort(latest.result.then(nothing, nothing), signal);
    }
  }

  #isFresh({ doneMonotonicMs }: Read<D, T>): boolean {
    const { clock, freshMs = FRESH_MS } = this.#parts;
    return doneMonotonicMs === undefined || clock.monotonicMs() - doneMonotonicMs < freshMs;
  }

  #serves(has: D, wanted: D): boolean {
    const { details } = this.#parts;
    return details.indexOf(has) >= details.indexOf(wanted);
  }

  #begin(detail: D): Read<D, T> {
    const { clock, read } = this.#parts;
    const begun: Read<D, T> = { detail, result: read(detail), doneMonotonicMs: undefined };
    this.#latest = begun;
    begun.result.then(
      () => {
        begun.doneMonotonicMs = clock.monotonicMs();
      },
      // A failure is not cached: the next caller reads again.
      () => {
        if (this.#latest === begun) this.#latest = undefined;
      },
    );
    return begun;
  }
}

const nothing = () => {};

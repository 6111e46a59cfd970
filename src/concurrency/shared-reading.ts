/**
 * A reading that is shared: who asks while one is under way waits for that one, and who asks within a moment after gets the same. There is never
 * more than one at a time, and no more than one in `freshMs`, whoever asks and however often. One who gives up does not end it for the others.
 *
 * A reading with more detail serves who wants less.
 */

import type { Clock } from "../ports/clock.ts";
import { unlessAborted } from "./unless-aborted.ts";

export interface SharedReadingParts<D extends string, T> {
  readonly clock: Clock;
  /** The least first. */
  readonly details: readonly D[];
  readonly read: (detail: D) => Promise<T>;
  readonly freshMs?: number;
}

const FRESH_MS = 1_000;

interface Read<D extends string, T> {
  readonly detail: D;
  readonly answer: Promise<T>;
  /** Undefined while it is under way. */
  doneMonotonicMs: number | undefined;
}

export class SharedReading<D extends string, T> {
  readonly #parts: SharedReadingParts<D, T>;
  #latest: Read<D, T> | undefined;

  constructor(parts: SharedReadingParts<D, T>) {
    this.#parts = parts;
  }

  async ask(detail: D, signal: AbortSignal): Promise<T> {
    for (;;) {
      const latest = this.#latest;
      if (latest !== undefined && this.#isFresh(latest) && this.#serves(latest.detail, detail)) {
        return unlessAborted(latest.answer, signal);
      }
      if (latest === undefined || latest.doneMonotonicMs !== undefined) {
        return unlessAborted(this.#begin(detail).answer, signal);
      }
      // One with less detail is under way: it is waited for, and what became of it is its asker's affair.
      await unlessAborted(latest.answer.then(nothing, nothing), signal);
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
    const begun: Read<D, T> = { detail, answer: read(detail), doneMonotonicMs: undefined };
    this.#latest = begun;
    begun.answer.then(
      () => {
        begun.doneMonotonicMs = clock.monotonicMs();
      },
      // The next asker tries anew.
      () => {
        if (this.#latest === begun) this.#latest = undefined;
      },
    );
    return begun;
  }
}

const nothing = () => {};

/**
 * Grants at most `max` permits at a time; other callers wait in order of arrival. A permit held longer than `maxHoldMs`
 * is released, so that a stuck holder cannot starve the others.
 */
import type { Clock } from "../ports/clock.ts";
import { raceAbort } from "./abort.ts";

export interface Permit extends Disposable {
  /**
   * Resolves when the permit is granted, at once if it already is. Rejects with the signal's reason if the signal
   * aborts first.
   */
  acquire(signal: AbortSignal): Promise<void>;
}

export class Semaphore {
  readonly #clock: Clock;
  readonly #maxHoldMs: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(clock: Clock, { max, maxHoldMs }: { readonly max: number; readonly maxHoldMs: number }) {
    this.#clock = clock;
    this.#free = max;
    this.#maxHoldMs = maxHoldMs;
  }

  /** Creates a permit that is not granted yet. Disposing of the permit releases it. */
  permit(): Permit {
    let isGranted = false;
    let release = () => {};
    return {
      acquire: async (signal) => {
        if (isGranted) return;
        await this.#granted(signal);
        isGranted = true;
        let isHeld = true;
        const releaseOnce = () => {
          cancel();
          if (isHeld) this.#next();
          isHeld = false;
        };
        const cancel = this.#clock.after(this.#maxHoldMs, releaseOnce);
        release = releaseOnce;
      },
      [Symbol.dispose]: () => release(),
    };
  }

  async #granted(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    try {
      await raceAbort(promise, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(resolve);
      // The permit was granted just as the caller aborted: grant it to the next.
      if (index < 0) this.#next();
      else this.#waiting.splice(index, 1);
      throw error;
    }
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

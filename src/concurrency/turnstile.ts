/**
 * Admits at most `most` holders at a time; others wait in order of arrival. A holder that stays longer than
 * `patienceMs` no longer counts: it is itself stuck and must not starve the others.
 */
import type { Clock } from "../ports/clock.ts";
import { unlessAborted } from "./unless-aborted.ts";

export interface Pass extends Disposable {
  /**
   * Resolves when the holder is admitted, at once if it already is. Rejects with the signal's reason if the signal
   * aborts first.
   */
  enter(signal: AbortSignal): Promise<void>;
}

export class Turnstile {
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(clock: Clock, { most, patienceMs }: { readonly most: number; readonly patienceMs: number }) {
    this.#clock = clock;
    this.#free = most;
    this.#patienceMs = patienceMs;
  }

  /** Creates a pass for one visit. Disposing of the pass releases its place. */
  pass(): Pass {
    let entered = false;
    let leave = () => {};
    return {
      enter: async (signal) => {
        if (entered) return;
        await this.#admitted(signal);
        entered = true;
        let isIn = true;
        const out = () => {
          cancel();
          if (isIn) this.#next();
          isIn = false;
        };
        const cancel = this.#clock.after(this.#patienceMs, out);
        leave = out;
      },
      [Symbol.dispose]: () => leave(),
    };
  }

  async #admitted(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(resolve);
      // The place was granted just as the caller gave up: pass it on.
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

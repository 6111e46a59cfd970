/**
 * Lets so many in at once; the others wait in the order they came. Whoever stays longer than a patient machine would take no longer counts: it
 * waits for something itself, and must not keep others out.
 */
import type { Clock } from "../ports/clock.ts";
import { unlessAborted } from "./unless-aborted.ts";

export interface Pass extends Disposable {
  /** Resolves when its holder is in, at once if it is already. Rejects with the signal's reason when that comes first. */
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

  /** For one visit: disposed of, its holder is out. */
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
      // Called in the moment it gave up: its place is the next one's.
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

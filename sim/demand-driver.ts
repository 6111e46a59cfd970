/**
 * Advances the virtual clock for tests that await the world like any caller and do not move the clock themselves. The
 * clock advances while a caller awaits a call or a delay, and stands still otherwise. A reader of a stream may wait
 * forever. Reading therefore advances the clock only by ON_ITS_WAY_MS, enough for values in transit.
 */
import { drain } from "./drain.ts";
import type { VirtualClock } from "./virtual-clock.ts";

const ON_ITS_WAY_MS = 1000;

export class DemandDriver {
  readonly #clock: VirtualClock;
  #demand = 0;
  #isRunning = false;
  #untilMs = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Returns the same port, but the clock advances while its calls are awaited. */
  drive<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => this.#watched(Reflect.apply(member, target, args));
      },
    });
  }

  /** Advances the clock by `delayMs`. */
  pass(delayMs: number): Promise<void> {
    return this.#awaited(new Promise((resolve) => this.#clock.after(delayMs, () => resolve())));
  }

  #watched(result: unknown): unknown {
    if (result instanceof Promise) return this.#awaited(result);
    if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return result;
    return this.#stream(result as AsyncIterable<unknown>);
  }

  #stream(stream: AsyncIterable<unknown>): AsyncIterable<unknown> {
    void this.#run();
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = stream[Symbol.asyncIterator]();
        const next = () => {
          const item = iterator.next();
          void this.#run();
          return item;
        };
        return { next, return: async () => (await iterator.return?.()) ?? { done: true, value: undefined } };
      },
    };
  }

  #awaited<T>(promise: Promise<T>): Promise<T> {
    this.#demand += 1;
    const done = () => {
      this.#demand -= 1;
    };
    promise.then(done, done);
    void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#untilMs = this.#clock.monotonicMs() + ON_ITS_WAY_MS;
    if (this.#isRunning) return;
    this.#isRunning = true;
    do await drain();
    while (this.#clock.fireNext(this.#demand > 0 ? Number.POSITIVE_INFINITY : this.#untilMs) || this.#demand > 0);
    this.#isRunning = false;
  }
}

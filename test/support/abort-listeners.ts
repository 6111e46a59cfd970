/** Counts who still listens to abort signals of this thread, without holding any of them. What listened before it was made is not seen. */
import { getEventListeners } from "node:events";

const FORGET_EVERY = 1_000;

export class AbortListeners {
  readonly #signals = new Map<number, WeakRef<AbortSignal>>();
  readonly #known = new WeakSet<AbortSignal>();
  #noted = 0;

  constructor() {
    const note = (signal: AbortSignal) => this.#note(signal);
    const addEventListener = Reflect.get(EventTarget.prototype, "addEventListener");
    // Node's own code listens by this method too.
    EventTarget.prototype.addEventListener = function (this: EventTarget, ...args) {
      if (this instanceof AbortSignal) note(this);
      return Reflect.apply(addEventListener, this, args);
    };
  }

  /** Of the signals that are alive. */
  count(): number {
    return this.#living().reduce((sum, signal) => sum + getEventListeners(signal, "abort").length, 0);
  }

  /** Forgets the others. */
  #living(): readonly AbortSignal[] {
    const living: AbortSignal[] = [];
    for (const [number, reference] of this.#signals) {
      const signal = reference.deref();
      if (signal === undefined) this.#signals.delete(number);
      else living.push(signal);
    }
    return living;
  }

  #note(signal: AbortSignal): void {
    if (this.#known.has(signal)) return;
    this.#known.add(signal);
    this.#noted += 1;
    this.#signals.set(this.#noted, new WeakRef(signal));
    // What it notes of signals that are gone must not look like a leak itself.
    if (this.#noted % FORGET_EVERY === 0) this.#living();
  }
}

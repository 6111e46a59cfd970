/**
 * Counts the listeners on this thread's abort signals, without keeping the signals alive. Does not see signals whose
 * listeners were all added before the counter was created.
 */
import { getEventListeners } from "node:events";

const FORGET_EVERY = 1_000;

export class AbortListeners {
  readonly #signals = new Map<number, WeakRef<AbortSignal>>();
  readonly #known = new WeakSet<AbortSignal>();
  #noted = 0;

  constructor() {
    const note = (signal: AbortSignal) => this.#note(signal);
    const addEventListener = Reflect.get(EventTarget.prototype, "addEventListener");
    // Node.js' own code adds its listeners by this method too.
    EventTarget.prototype.addEventListener = function (this: EventTarget, ...args) {
      if (this instanceof AbortSignal) note(this);
      return Reflect.apply(addEventListener, this, args);
    };
  }

  /** Number of abort listeners on all live signals. */
  count(): number {
    return this.#living().reduce((sum, signal) => sum + getEventListeners(signal, "abort").length, 0);
  }

  /** Returns the live signals, and removes the collected ones from the map. */
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
    // The map's entries for collected signals must not look like a leak themselves.
    if (this.#noted % FORGET_EVERY === 0) this.#living();
  }
}

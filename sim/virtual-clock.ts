/**
 * Time that moves only when the scenario says so, and never while a promise can still run: a run is then the same every time.
 * The calendar can be made to jump while monotonic time goes on, as on a machine whose clock is set.
 */
import { type Timed, TimeHeap } from "../src/base/time-heap.ts";
import type { Clock } from "../src/ports/clock.ts";
import { drain } from "./drain.ts";

interface Timer extends Timed {
  readonly fire: () => void;
}

/** A calendar start far from zero, so that a mixed-up reading of the two clocks shows. */
const DEFAULT_START_WALL_MS = Date.UTC(2026, 0, 1);

/** What a machine's timers tell apart. */
const STEP_MS = 1;

export class VirtualClock implements Clock {
  readonly #timers = new TimeHeap<Timer>();
  readonly #startWallMs: number;
  #wallOffsetMs: number;
  #nowMs = 0;
  #order = 0;
  #firedCount = 0;

  constructor(startWallMs: number = DEFAULT_START_WALL_MS) {
    this.#startWallMs = startWallMs;
    this.#wallOffsetMs = startWallMs;
  }

  wallMs(): number {
    return Math.trunc(this.#wallOffsetMs + this.#nowMs);
  }

  /** The calendar of those whose clock is right: it never jumps. */
  trueWallMs(): number {
    return Math.trunc(this.#startWallMs + this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, fire: () => void): () => void {
    const wishedMs = delayMs > 0 ? delayMs : 0; // Not a number becomes 0 too.
    // Whoever waits, however shortly, finds time gone on: else he would wait again, for ever.
    const waitMs = wishedMs > 0 && this.#nowMs + wishedMs === this.#nowMs ? STEP_MS : wishedMs;
    let pending = true;
    const timer = {
      atMs: this.#nowMs + waitMs,
      order: this.#order,
      fire: () => {
        pending = false;
        fire();
      },
    };
    this.#order += 1;
    this.#timers.add(timer);
    return () => {
      if (pending) this.#timers.cancel(timer);
      pending = false;
    };
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** How many timers have fired: the events of a run. */
  get firedCount(): number {
    return this.#firedCount;
  }

  /** Makes the calendar of the machines jump, forwards or back. Timers do not notice. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Lets `byMs` pass, firing what is due in order. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#nowMs + byMs;
    do await drain();
    while (this.fireNext(endMs));
    this.#nowMs = endMs;
  }

  /** Lets time pass until no timer waits or `limitMs` has gone by; says whether none waits. */
  async runUntilIdle(limitMs: number): Promise<boolean> {
    const endMs = this.#nowMs + limitMs;
    do await drain();
    while (this.fireNext(endMs));
    if (this.pending === 0) return true;
    this.#nowMs = endMs;
    return false;
  }

  /** Fires the earliest timer that is due by `endMs` and moves time to it; false when there is none. Promises it frees run after. */
  fireNext(endMs: number): boolean {
    const next = this.#timers.takeDue(endMs);
    if (next === undefined) return false;
    this.#nowMs = next.atMs;
    this.#firedCount += 1;
    next.fire();
    return true;
  }
}

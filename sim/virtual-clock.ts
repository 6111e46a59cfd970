/**
 * Time that moves only when the scenario advances it, and never while a promise can still run, so that every run is the
 * same. The wall clock can jump while monotonic time continues, as on a machine whose clock is set.
 */
import { type Timed, TimeHeap } from "../src/base/time-heap.ts";
import type { Clock } from "../src/ports/clock.ts";
import { drain } from "./drain.ts";

interface Timer extends Timed {
  readonly fire: () => void;
}

/** A wall-clock start far from zero, so that confusing the two clocks shows. */
const DEFAULT_START_WALL_MS = Date.UTC(2026, 0, 1);

/** The resolution of a machine's timers. */
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

  /** The wall clock of machines whose clock is right: it never jumps. */
  trueWallMs(): number {
    return Math.trunc(this.#startWallMs + this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, fire: () => void): () => void {
    const wishedMs = delayMs > 0 ? delayMs : 0; // NaN becomes 0 too.
    // Every wait, however short, must advance time; otherwise the caller would wait again, forever.
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

  /** The number of pending timers. */
  get pending(): number {
    return this.#timers.size;
  }

  /** The number of timers that have fired: the events of a run. */
  get firedCount(): number {
    return this.#firedCount;
  }

  /** Makes the wall clock of the machines jump, forward or back. Timers are not affected. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Advances time by `byMs` and fires due timers in order. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#nowMs + byMs;
    do await drain();
    while (this.fireNext(endMs));
    this.#nowMs = endMs;
  }

  /** Advances time until no timer is pending or `limitMs` has passed; returns whether none is pending. */
  async runUntilIdle(limitMs: number): Promise<boolean> {
    const endMs = this.#nowMs + limitMs;
    do await drain();
    while (this.fireNext(endMs));
    if (this.pending === 0) return true;
    this.#nowMs = endMs;
    return false;
  }

  /**
   * Fires the earliest timer that is due by `endMs` and moves time to it; returns false if there is none. Promises that
   * it resolves run later.
   */
  fireNext(endMs: number): boolean {
    const next = this.#timers.takeDue(endMs);
    if (next === undefined) return false;
    this.#nowMs = next.atMs;
    this.#firedCount += 1;
    next.fire();
    return true;
  }
}

/** Draws from a random stream, in the terms of the code that generates a world. */
import { assert } from "../../src/base/assert.ts";
import type { Random } from "../../src/ports/random.ts";

export class Draw {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random.fraction() < probability;
  }

  /** A whole number, both ends included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.#random.fraction() * (max - min + 1));
  }

  pick<T>(list: readonly T[]): T {
    assert(list.length > 0, "nothing to pick from");
    return list[this.whole(0, list.length - 1)] as T;
  }

  /** Picks each item independently, and keeps their order. */
  someOf<T>(list: readonly T[], probability: number): readonly T[] {
    return list.filter(() => this.chance(probability));
  }

  /** Time until the next event, when events occur every `meanMs` on average. */
  waitMs(meanMs: number): number {
    return Math.round(-Math.log(1 - this.#random.fraction()) * meanMs);
  }
}

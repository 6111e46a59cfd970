/** Draws from a stream of chance, in the words of whoever makes up a world. */
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

  /** Each by itself, in their order. */
  someOf<T>(list: readonly T[], probability: number): readonly T[] {
    return list.filter(() => this.chance(probability));
  }

  /** How long until what happens every `meanMs` or so happens next. */
  waitMs(meanMs: number): number {
    return Math.round(-Math.log(1 - this.#random.fraction()) * meanMs);
  }
}

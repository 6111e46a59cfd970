/**
 * Randomness from a seed: the same seed gives the same run. Streams are split by name, so that one more draw in one
 * part does not change the draws of another part. The generator is sfc32, small and of good quality; it must not
 * generate secrets.
 */
import type { Random } from "../src/ports/random.ts";

/** Number of draws that mix the seed into the whole state before the first value is used. */
const WARM_UP = 15;

export class SeededRandom implements Random {
  readonly #name: string;
  readonly #state: Uint32Array;

  constructor(seed: number | string) {
    this.#name = String(seed);
    this.#state = Uint32Array.of(...hash(this.#name), 1);
    for (let i = 0; i < WARM_UP; i += 1) this.#next();
  }

  /** From 0 up to, but not including, 1, with 53 random bits. */
  fraction(): number {
    const high = this.#next() >>> 5;
    const low = this.#next() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  }

  uuid(): string {
    const bytes = new Uint8Array(Uint32Array.of(this.#next(), this.#next(), this.#next(), this.#next()).buffer);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  }

  /** Returns a separate stream. It depends on the seed and the name only, not on earlier draws. */
  split(name: string): SeededRandom {
    return new SeededRandom(`${this.#name}/${name}`);
  }

  #next(): number {
    const state = this.#state;
    const [a = 0, b = 0, c = 0, counter = 0] = state;
    const result = (a + b + counter) >>> 0;
    state[0] = b ^ (b >>> 9);
    state[1] = c + (c << 3);
    state[2] = ((c << 21) | (c >>> 11)) + result;
    state[3] = counter + 1;
    return result;
  }
}

/** FNV-1a over the text, three times with different start values: enough to distinguish names. */
function hash(text: string): readonly number[] {
  return [0x811c9dc5, 0x9e3779b9, 0x85ebca6b].map((start) => {
    let value = start;
    for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
    return value >>> 0;
  });
}

/**
 * Builds text directly as UTF-8 bytes, in one reusable buffer that grows as needed. Large texts that are built
 * repeatedly from the same few parts leave nothing for the garbage collector.
 */
export class ByteText {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(roomBytes: number) {
    this.#bytes = new Uint8Array(roomBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes written so far; valid until the next write. */
  get written(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A view of the buffer from `start` on; valid until the buffer is cleared. */
  from(start: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(start, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  add(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Half a surrogate pair is written as U+FFFD. */
  addText(text: string): void {
    // A UTF-16 code unit needs at most three bytes.
    this.#makeRoom(text.length * 3);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit < 0x80) {
        bytes[at++] = unit;
        continue;
      }
      const point = text.codePointAt(index) ?? NO_LETTER;
      if (point > 0xffff) index += 1;
      at = putLetter(bytes, at, point >= 0xd800 && point <= 0xdfff ? NO_LETTER : point);
    }
    this.#length = at;
  }

  /** `value` is a whole number from 0 to the largest safe integer. */
  addWhole(value: number): void {
    this.#makeRoom(DIGITS_MAX);
    const high = Math.floor(value / HALF);
    const low = value - high * HALF;
    const end = high === 0 ? this.#digits(this.#length, low, digitsOf(low)) : this.#large(high, low);
    this.#length = end;
  }

  #large(high: number, low: number): number {
    const middle = this.#digits(this.#length, high, digitsOf(high));
    return this.#digits(middle, low, HALF_DIGITS);
  }

  #digits(at: number, value: number, count: number): number {
    let left = value;
    for (let place = at + count - 1; place >= at; place -= 1) {
      const rest = Math.floor(left / 10);
      this.#bytes[place] = 0x30 + left - rest * 10;
      left = rest;
    }
    return at + count;
  }

  #makeRoom(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.written);
    this.#bytes = larger;
  }
}

const NO_LETTER = 0xfffd;
const DIGITS_MAX = 16;
/** Larger numbers are written in two halves, because numbers below this are fast to split into digits. */
const HALF = 1e8;
const HALF_DIGITS = 8;

function digitsOf(value: number): number {
  let [count, bound] = [1, 10];
  while (value >= bound) [count, bound] = [count + 1, bound * 10];
  return count;
}

function putLetter(bytes: Uint8Array, at: number, point: number): number {
  const more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  const head = point < 0x800 ? 0xc0 : point < 0x10000 ? 0xe0 : 0xf0;
  bytes[at] = head | (point >> (6 * more));
  for (let index = 1; index <= more; index += 1) bytes[at + index] = 0x80 | ((point >> (6 * (more - index))) & 0x3f);
  return at + more + 1;
}

/**
 * Splits a stream of bytes into lines. It works on bytes, not text, so a chunk may end anywhere, even inside a
 * character. Bytes after the last newline are kept for the next chunk.
 */
const NEWLINE = 0x0a;

export class LineSplitter {
  readonly #lineBytesMax: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** The number of bytes of the incomplete line. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Yields the lines that this chunk completes, without their newlines. Throws if a line is too long. */
  *push(chunk: Buffer): Generator<Buffer> {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      yield this.#takeLine();
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#pendingBytes += part.length;
    if (this.#pendingBytes > this.#lineBytesMax) {
      throw new Error(`a line of more than ${this.#lineBytesMax} bytes`);
    }
    this.#pending.push(part);
  }

  #takeLine(): Buffer {
    const [first] = this.#pending;
    const line = this.#pending.length === 1 && first !== undefined ? first : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }
}

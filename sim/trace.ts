/**
 * Records a run line by line: a hash over all lines, to compare two runs, and the last lines, for people. A line
 * contains nothing that differs between two runs of one seed.
 */
const KEPT_LINES_MAX = 2000;

export class Trace {
  readonly #kept: string[] = [];
  #high = 0xdeadbeef;
  #low = 0x41c6ce57;
  #count = 0;

  record(line: string): void {
    this.#count += 1;
    this.#mix(line);
    this.#kept.push(line);
    // Cut rarely, because cutting is expensive.
    if (this.#kept.length > 2 * KEPT_LINES_MAX) this.#kept.splice(0, this.#kept.length - KEPT_LINES_MAX);
  }

  get count(): number {
    return this.#count;
  }

  get lastLines(): readonly string[] {
    return this.#kept.slice(-KEPT_LINES_MAX);
  }

  /** The hash of every line so far. */
  get hash(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #mix(line: string): void {
    let high = this.#high;
    let low = this.#low;
    for (let index = 0; index < line.length; index += 1) {
      const code = line.charCodeAt(index);
      high = Math.imul(high ^ code, 2654435761);
      low = Math.imul(low ^ code, 1597334677);
    }
    this.#high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
    this.#low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  }
}

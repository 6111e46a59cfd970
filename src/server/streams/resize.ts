/**
 * Reads terminal sizes from the resize channel, whose JSON values may be split and joined arbitrarily. As in the Go
 * kubelet, the first invalid size ends the channel, and the terminal keeps its last size. A message far longer than any
 * real size ends it, too.
 */
import { TERMINAL_SIZE_BYTES_MAX, TERMINAL_SIZE_HELD_BYTES_MAX } from "../limits.ts";

export interface TerminalSize {
  readonly Width: number;
  readonly Height: number;
}

export class ResizeReader {
  #held = "";
  #broken = false;

  /** Returns the last complete size; earlier ones are already outdated. */
  read(bytes: Uint8Array): TerminalSize | undefined {
    if (this.#broken) return undefined;
    const text = this.#held + Buffer.from(bytes.subarray(0, TERMINAL_SIZE_BYTES_MAX)).toString("latin1");
    let last: TerminalSize | undefined;
    let start = 0;
    for (let end = text.indexOf("}"); end >= 0; end = text.indexOf("}", start)) {
      const size = parseSize(text.slice(start, end + 1));
      if (size === undefined) return this.#break(last);
      last = size;
      start = end + 1;
    }
    this.#held = text.slice(start);
    return bytes.length > TERMINAL_SIZE_BYTES_MAX || this.#held.length > TERMINAL_SIZE_HELD_BYTES_MAX
      ? this.#break(last)
      : last;
  }

  #break(last: TerminalSize | undefined): TerminalSize | undefined {
    this.#broken = true;
    this.#held = "";
    return last;
  }
}

function parseSize(text: string): TerminalSize | undefined {
  try {
    const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const [Width, Height] = [side(value["Width"]), side(value["Height"])];
    return Width === undefined || Height === undefined ? undefined : { Width, Height };
  } catch {
    return undefined;
  }
}

/** A missing value is 0, which runtimes ignore. */
function side(value: unknown): number | undefined {
  if (value === undefined) return 0;
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 65_535 ? value : undefined;
}

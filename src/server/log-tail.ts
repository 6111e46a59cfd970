/** Finds the beginning of a log's last lines, searching backwards from its end. */
import type { LogFile } from "../ports/log-files.ts";

const BLOCK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** An incomplete last line is not counted but is included. */
export async function tailStart(log: LogFile, lines: number, signal: AbortSignal): Promise<number> {
  let left = lines;
  const block = new Uint8Array(BLOCK_BYTES);
  for (let end = await log.sizeBytes(); end > 0; end -= Math.min(end, BLOCK_BYTES)) {
    signal.throwIfAborted();
    const start = Math.max(0, end - BLOCK_BYTES);
    const read = await log.read(block.subarray(0, end - start), start);
    for (let at = previous(block, read); at >= 0; at = previous(block, at)) {
      if (left === 0) return start + at + 1;
      left -= 1;
    }
  }
  return 0;
}

/** The last line feed before `at`. A negative position would make `lastIndexOf` count from the end. */
const previous = (block: Uint8Array, at: number): number => (at === 0 ? -1 : block.lastIndexOf(LINE_FEED, at - 1));

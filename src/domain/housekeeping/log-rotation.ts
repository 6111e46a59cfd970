/**
 * What one rotation of a log does with the files beside it, and when a log has to be looked at again. The limit holds for whoever writes fast
 * too: the next look is at the moment at which the log reaches it at the rate seen last.
 */
import { nextPart, rotatedLogs } from "../logs/rotated-logs.ts";

export interface RotationPolicy {
  readonly bytesMax: number;
  /** At least two: the log itself and the part that was rotated last. */
  readonly filesMax: number;
  /** How often every log is looked at, whatever is seen of it. */
  readonly everyMs: number;
}

export interface RotationPlan {
  /** First: it makes room, and takes none. */
  readonly remove: readonly string[];
  /** What the log is called then. */
  readonly renameTo: string;
}

/** `names`: what is in the log's folder. */
export function rotationPlan(
  fileName: string,
  names: readonly string[],
  { filesMax }: Pick<RotationPolicy, "filesMax">,
  wallMs: number,
): RotationPlan {
  const { inUse, unused } = rotatedLogs(fileName, names);
  // The log that is rotated now and the new one come to what is kept.
  const excess = inUse.slice(0, Math.max(0, inUse.length - Math.max(0, filesMax - 2)));
  return {
    remove: [...unused, ...excess.map(({ name }) => name)],
    renameTo: nextPart(fileName, inUse, wallMs),
  };
}

/** All but the newest, which others may still read or write to. Oldest first. */
export const partsToCompress = (fileName: string, names: readonly string[]): readonly string[] =>
  rotatedLogs(fileName, names)
    .inUse.slice(0, -1)
    .filter(({ isCompressed }) => !isCompressed)
    .map(({ part }) => part);

/** A log's size at a moment of the monotonic clock. */
export interface LogSize {
  readonly bytes: number;
  readonly atMs: number;
}

/** Not sooner, whatever the rate: a file is not to be polled. */
const LOOK_MS_MIN = 50;
/** How far beyond the limit the log is when it is looked at: a share of it, and not less than this. Sooner would be too soon half of the time. */
const BEYOND_SHARE = 0.02;
const BEYOND_BYTES_MIN = 32 * 1024;
/** What a container that was quiet so far may come to write. */
const BURST_BYTES_PER_MS = 10_000;
const LOOK_MS_MAX = 1_000;

export type NextLook =
  /** It grows so fast that time alone says when. */
  | { readonly kind: "in"; readonly ms: number }
  /** Once it is written to again, and not sooner than in so long. */
  | { readonly kind: "whenWritten"; readonly notBeforeMs: number };

export function nextLook(bytes: number, bytesPerMs: number, { bytesMax }: Pick<RotationPolicy, "bytesMax">): NextLook {
  const leftBytes = Math.max(0, bytesMax - bytes);
  const reachedMs = (leftBytes + Math.max(bytesMax * BEYOND_SHARE, BEYOND_BYTES_MIN)) / bytesPerMs;
  if (reachedMs < 2 * LOOK_MS_MAX) return { kind: "in", ms: within(reachedMs) };
  return { kind: "whenWritten", notBeforeMs: within(leftBytes / BURST_BYTES_PER_MS) };
}

/** Of a log that was replaced since, what is there was written since. */
export function growthPerMs(before: LogSize | undefined, now: LogSize): number {
  if (before === undefined || now.atMs <= before.atMs) return 0;
  return (now.bytes >= before.bytes ? now.bytes - before.bytes : now.bytes) / (now.atMs - before.atMs);
}

const within = (ms: number): number => Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, ms));

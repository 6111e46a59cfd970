/**
 * Plans the rotation of a log, and decides when to check the log again. The limit holds for fast writers too: the next
 * check is at the time at which the log reaches the limit at the last measured rate.
 */
import { nextPart, rotatedLogs } from "../logs/rotated-logs.ts";

export interface RotationPolicy {
  readonly bytesMax: number;
  /** At least two: the log itself and the most recently rotated file. */
  readonly filesMax: number;
  /** The interval at which every log is checked, whatever its growth. */
  readonly everyMs: number;
}

export interface RotationPlan {
  /** Removed before the rename, because that frees space and needs none. */
  readonly remove: readonly string[];
  /** The new name of the log. */
  readonly renameTo: string;
}

/** `names`: the entries of the log's directory. */
export function rotationPlan(
  fileName: string,
  names: readonly string[],
  { filesMax }: Pick<RotationPolicy, "filesMax">,
  wallMs: number,
): RotationPlan {
  const { inUse, unused } = rotatedLogs(fileName, names);
  // The log that is rotated now and its new file count towards the limit.
  const excess = inUse.slice(0, Math.max(0, inUse.length - Math.max(0, filesMax - 2)));
  return {
    remove: [...unused, ...excess.map(({ name }) => name)],
    renameTo: nextPart(fileName, inUse, wallMs),
  };
}

/** All rotated files but the newest, which others may still read or write. Oldest first. */
export const partsToCompress = (fileName: string, names: readonly string[]): readonly string[] =>
  rotatedLogs(fileName, names)
    .inUse.slice(0, -1)
    .filter(({ isCompressed }) => !isCompressed)
    .map(({ part }) => part);

/** A log's size at a time of the monotonic clock. */
export interface LogSize {
  readonly bytes: number;
  readonly atMs: number;
}

/** The minimum interval at any rate: a file must not be polled. */
const LOOK_MS_MIN = 50;
/**
 * How far beyond the limit the log should be at the check: a share of the limit, but at least BEYOND_BYTES_MIN. Without
 * this margin the check would come too early half of the time.
 */
const BEYOND_SHARE = 0.02;
const BEYOND_BYTES_MIN = 32 * 1024;
/** The rate at which a container that was idle so far may start to write. */
const BURST_BYTES_PER_MS = 10_000;
const LOOK_MS_MAX = 1_000;

export type NextLook =
  /** The log grows so fast that only the time determines the next check. */
  | { readonly kind: "in"; readonly ms: number }
  /** Check when the log is written to again, but not before `notBeforeMs`. */
  | { readonly kind: "whenWritten"; readonly notBeforeMs: number };

export function nextLook(bytes: number, bytesPerMs: number, { bytesMax }: Pick<RotationPolicy, "bytesMax">): NextLook {
  const leftBytes = Math.max(0, bytesMax - bytes);
  const reachedMs = (leftBytes + Math.max(bytesMax * BEYOND_SHARE, BEYOND_BYTES_MIN)) / bytesPerMs;
  if (reachedMs < 2 * LOOK_MS_MAX) return { kind: "in", ms: within(reachedMs) };
  return { kind: "whenWritten", notBeforeMs: within(leftBytes / BURST_BYTES_PER_MS) };
}

/** If the log has shrunk, it was replaced, and all of its bytes are new. */
export function growthPerMs(before: LogSize | undefined, now: LogSize): number {
  if (before === undefined || now.atMs <= before.atMs) return 0;
  return (now.bytes >= before.bytes ? now.bytes - before.bytes : now.bytes) / (now.atMs - before.atMs);
}

const within = (ms: number): number => Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, ms));

/**
 * The names of a log's rotated parts: `0.log.20260102-150405`, and `.gz` behind it once it is compressed. By name they are in the order in which
 * they were written.
 */
const COMPRESSED = ".gz";
const TEMPORARY = ".tmp";

export interface RotatedLog {
  readonly name: string;
  /** The name it got when it was rotated: it says which part it is, compressed or not. */
  readonly part: string;
  readonly isCompressed: boolean;
}

export interface RotatedLogs {
  /** Oldest first. */
  readonly inUse: readonly RotatedLog[];
  /** What a rotation that was cut short has left: parts of compressed files, and files whose compressed form is whole. */
  readonly unused: readonly string[];
}

export const compressedName = (part: string): string => part + COMPRESSED;
export const temporaryName = (part: string): string => part + TEMPORARY;

/** Of the log with this file name, among the names of its folder. */
export function rotatedLogs(fileName: string, names: readonly string[]): RotatedLogs {
  const all = new Set(names.filter((name) => name.startsWith(`${fileName}.`)));
  const isUnused = (name: string) => name.endsWith(TEMPORARY) || all.has(compressedName(name));
  const sorted = [...all].sort();
  return {
    unused: sorted.filter(isUnused),
    inUse: sorted.filter((name) => !isUnused(name)).map(describe),
  };
}

function describe(name: string): RotatedLog {
  const isCompressed = name.endsWith(COMPRESSED);
  return { name, part: isCompressed ? name.slice(0, -COMPRESSED.length) : name, isCompressed };
}

const digits = (value: number, count: number) => String(value).padStart(count, "0");

/** In the node's own time zone, as log agents know it. */
function stamp(wallMs: number): string {
  const at = new Date(wallMs);
  const date = digits(at.getFullYear(), 4) + digits(at.getMonth() + 1, 2) + digits(at.getDate(), 2);
  return `${date}-${digits(at.getHours(), 2)}${digits(at.getMinutes(), 2)}${digits(at.getSeconds(), 2)}`;
}

const STAMP = /^(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})$/;

function wallMsOf(text: string): number {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = STAMP.exec(text)?.slice(1).map(Number) ?? [];
  return new Date(year, month - 1, day, hour, minute, second).getTime();
}

/**
 * What the log is called once it is rotated now. A name that is taken, or that would come before one, is never given: two rotations within one
 * second, or a clock that was set back, would replace a log or put it in the wrong place. Then it is the second after the newest's.
 */
export function nextPart(fileName: string, inUse: readonly RotatedLog[], wallMs: number): string {
  const now = stamp(wallMs);
  const stamps = inUse.map(({ part }) => part.slice(fileName.length + 1)).filter((text) => STAMP.test(text));
  const newest = stamps.at(-1);
  if (newest === undefined || now > newest) return `${fileName}.${now}`;
  let afterMs = wallMsOf(newest) + 1000;
  // In the hour that comes twice a later moment may have an earlier name.
  while (stamp(afterMs) <= newest) afterMs += 1000;
  return `${fileName}.${stamp(afterMs)}`;
}

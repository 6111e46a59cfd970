/**
 * The names of a log's rotated files: `0.log.20260102-150405`, and `.gz` after it once the file is compressed. Sorted
 * by name, they are in the order in which they were written.
 */
const COMPRESSED = ".gz";
const TEMPORARY = ".tmp";

export interface RotatedLog {
  readonly name: string;
  /** The name from the rotation, which identifies the file whether it is compressed or not. */
  readonly part: string;
  readonly isCompressed: boolean;
}

export interface RotatedLogs {
  /** Oldest first. */
  readonly inUse: readonly RotatedLog[];
  /** Leftovers of an interrupted rotation: incomplete compressed files, and files whose compressed form is complete. */
  readonly unused: readonly string[];
}

export const compressedName = (part: string): string => part + COMPRESSED;
export const temporaryName = (part: string): string => part + TEMPORARY;

/** The rotated files of the log with this file name, among the entries of its directory. */
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

/** In the node's own time zone, as log agents expect. */
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
 * The log's name if it is rotated now. The name always comes after those in use. Otherwise two rotations within one
 * second, or a clock that was set back, would replace a log or break the order. In these cases the name is that of the
 * second after the newest.
 */
export function nextPart(fileName: string, inUse: readonly RotatedLog[], wallMs: number): string {
  const now = stamp(wallMs);
  const stamps = inUse.map(({ part }) => part.slice(fileName.length + 1)).filter((text) => STAMP.test(text));
  const newest = stamps.at(-1);
  if (newest === undefined || now > newest) return `${fileName}.${now}`;
  let afterMs = wallMsOf(newest) + 1000;
  // In the hour that occurs twice when the clocks go back, a later time may have an earlier name.
  while (stamp(afterMs) <= newest) afterMs += 1000;
  return `${fileName}.${stamp(afterMs)}`;
}

/**
 * Reads small kernel files whole, into one buffer that is reused, without a promise or a copy per file: hundreds of
 * cgroups have a dozen files each. Content is taken as single bytes, never decoded.
 */
import { closeSync, constants, openSync, readdirSync, readSync, type Stats, statSync } from "node:fs";
import { errnoOf } from "../../host/errno.ts";

/** The file was removed, the controller or the kernel lacks it, or its process may not be inspected. */
const ABSENT = new Set(["ENOENT", "ENODEV", "ENOTDIR", "ESRCH", "EOPNOTSUPP", "ENOTSUP", "EACCES", "EPERM", "EINVAL"]);

const SHORT_BYTES = 2048;

let buffer = Buffer.allocUnsafeSlow(64 * 1024);

export function orAbsent<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    return absentOr(error);
  }
}

function absentOr(error: unknown): undefined {
  if (!ABSENT.has(errnoOf(error))) throw error;
  return undefined;
}

export const readText = (path: string): string | undefined => {
  const length = readBytes(path);
  return length === undefined ? undefined : buffer.toString("latin1", 0, length);
};

/** Returns how many bytes of the buffer are the file. */
function readBytes(path: string): number | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY);
  } catch (error) {
    return absentOr(error);
  }
  try {
    return readOpen(file);
  } catch (error) {
    return absentOr(error);
  } finally {
    closeSync(file);
  }
}

function readOpen(file: number): number {
  let length = 0;
  for (;;) {
    const got = readSync(file, buffer, length, buffer.length - length, null);
    length += got;
    // The kernel returns less than requested only at the end, or after at least a page.
    if (got === 0 || length < SHORT_BYTES) return length;
    if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
  }
}

const [MINUS, ZERO, NINE, SMALL_M] = [0x2d, 0x30, 0x39, 0x6d];

/** The number that is the file's only content. "max" is Infinity. */
export function readNumber(path: string): number | undefined {
  const length = readBytes(path);
  if (length === undefined || length === 0) return undefined;
  const isNegative = buffer[0] === MINUS;
  const start = isNegative ? 1 : 0;
  let [value, at] = [0, start];
  for (; at < length; at += 1) {
    const letter = buffer[at] ?? 0;
    if (letter < ZERO || letter > NINE) break;
    value = value * 10 + letter - ZERO;
  }
  // A value too large for an exact sum is parsed from its text, and so is anything but digits and a line end.
  const isPlain = at > start && at >= length - 1 && value <= Number.MAX_SAFE_INTEGER;
  if (isPlain) return isNegative ? -value : value;
  return buffer[0] === SMALL_M || at > start ? numberOf(buffer.toString("latin1", 0, length).trim()) : undefined;
}

export function numberOf(text: string): number | undefined {
  if (text === "max") return Infinity;
  return /^-?\d+$/.test(text) ? Number(text) : undefined;
}

/** A file of lines "key value", looked up by key: fastest in the order of the lines. */
export class KeyedText {
  readonly #text: string;
  #from = 0;

  constructor(text: string) {
    this.#text = text;
  }

  static read(path: string): KeyedText | undefined {
    const text = readText(path);
    return text === undefined ? undefined : new KeyedText(text);
  }

  /** 0 if there is no such line. */
  number(key: string): number {
    const start = this.#find(`${key} `);
    if (start === -1) return 0;
    const end = this.#text.indexOf("\n", start);
    this.#from = start;
    const value = Number(this.#text.slice(start, end === -1 ? undefined : end));
    return Number.isNaN(value) ? 0 : value;
  }

  /** The position where the key's value begins. */
  #find(key: string): number {
    const text = this.#text;
    if (text.startsWith(key)) return key.length;
    const line = `\n${key}`;
    let at = text.indexOf(line, this.#from);
    if (at === -1 && this.#from > 0) at = text.indexOf(line);
    return at === -1 ? -1 : at + line.length;
  }
}

/** The names of the subdirectories. */
export const directoryNames = (path: string): readonly string[] =>
  (orAbsent(() => readdirSync(path, { withFileTypes: true })) ?? [])
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);

/** A directory without subdirectories has a link count of two, on file systems that maintain it. */
export const mayHaveDirectories = ({ nlink }: Stats): boolean => nlink !== 2;

export const statOf = (path: string): Stats | undefined => orAbsent(() => statSync(path, { throwIfNoEntry: false }));

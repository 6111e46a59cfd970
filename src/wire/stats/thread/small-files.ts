/**
 * Small files of the kernel's, read whole into one buffer that is used again and again, without a promise or a copy each: hundreds of groups have
 * a dozen of them. They are taken as single bytes, never decoded.
 */
import { closeSync, constants, openSync, readdirSync, readSync, type Stats, statSync } from "node:fs";
import { errnoOf } from "../../host/errno.ts";

/** It went away, its controller or the kernel has no such thing, or it is a process of which nobody may know. */
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

/** How much of the buffer is the file. */
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
    // The kernel stops short of what was asked for only at the end, or after a page or more of it.
    if (got === 0 || length < SHORT_BYTES) return length;
    if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
  }
}

const [MINUS, ZERO, NINE, SMALL_M] = [0x2d, 0x30, 0x39, 0x6d];

/** What the file holds, as the only thing in it. "max" is no limit. */
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
  // Beyond what a sum keeps exactly it is taken from its text; anything else than digits and an end too.
  const isPlain = at > start && at >= length - 1 && value <= Number.MAX_SAFE_INTEGER;
  if (isPlain) return isNegative ? -value : value;
  return buffer[0] === SMALL_M || at > start ? numberOf(buffer.toString("latin1", 0, length).trim()) : undefined;
}

export function numberOf(text: string): number | undefined {
  if (text === "max") return Infinity;
  return /^-?\d+$/.test(text) ? Number(text) : undefined;
}

/** A file of lines "key value", looked up by key: quickest in the order of the lines. */
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

  /** 0 where there is no such line. */
  number(key: string): number {
    const start = this.#find(`${key} `);
    if (start === -1) return 0;
    const end = this.#text.indexOf("\n", start);
    this.#from = start;
    const value = Number(this.#text.slice(start, end === -1 ? undefined : end));
    return Number.isNaN(value) ? 0 : value;
  }

  /** Where its value begins. */
  #find(key: string): number {
    const text = this.#text;
    if (text.startsWith(key)) return key.length;
    const line = `\n${key}`;
    let at = text.indexOf(line, this.#from);
    if (at === -1 && this.#from > 0) at = text.indexOf(line);
    return at === -1 ? -1 : at + line.length;
  }
}

/** The folders in a folder. */
export const folderNames = (path: string): readonly string[] =>
  (orAbsent(() => readdirSync(path, { withFileTypes: true })) ?? [])
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);

/** A folder that has no folders in it tells so by its count of links, where a file system keeps that: two, its own. */
export const mayHaveFolders = ({ nlink }: Stats): boolean => nlink !== 2;

export const statOf = (path: string): Stats | undefined => orAbsent(() => statSync(path, { throwIfNoEntry: false }));

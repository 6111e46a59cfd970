/** Writes DER, as far as certificates and certificate requests need it. */
import { concatBytes } from "../bytes.ts";
import { utf8Bytes } from "../utf8.ts";
import { TAG } from "./tags.ts";

type Bytes = Uint8Array;

export function element(tag: number, ...parts: readonly Bytes[]): Bytes {
  const content = concatBytes(parts);
  return concatBytes([Uint8Array.of(tag, ...lengthBytes(content.length)), content]);
}

function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

export const sequence = (...parts: readonly Bytes[]): Bytes => element(TAG.sequence, ...parts);

/** DER orders the members of a set by their bytes, whatever order the caller uses. */
export const setOf = (...parts: readonly Bytes[]): Bytes => element(TAG.set, ...[...parts].sort(compareBytes));

function compareBytes(a: Bytes, b: Bytes): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at < 0 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1);
}

/** Encodes a non-negative number, given as big-endian bytes. */
export function integer(bytes: Bytes): Bytes {
  const from = bytes.findIndex((byte) => byte !== 0);
  const short = from < 0 ? Uint8Array.of(0) : bytes.subarray(from);
  return element(TAG.integer, (short[0] ?? 0) < 0x80 ? short : concatBytes([Uint8Array.of(0), short]));
}

export const trueValue: Bytes = element(TAG.boolean, Uint8Array.of(0xff));

/** `dotted` is an OID such as "2.5.4.3". */
export function objectId(dotted: string): Bytes {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(TAG.objectId, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(value: number): readonly number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift(0x80 | (rest % 128));
  return digits;
}

/** The last `unusedBits` bits of the last byte are ignored. */
export const bitString = (bytes: Bytes, unusedBits = 0): Bytes =>
  element(TAG.bitString, Uint8Array.of(unusedBits), bytes);

export const octetString = (content: Bytes): Bytes => element(TAG.octetString, content);

/** Uses PrintableString if it fits, else UTF8String, as most certificate writers do. */
export const text = (value: string): Bytes =>
  element(/^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value) ? TAG.printableString : TAG.utf8String, utf8Bytes(value));

/** In whole seconds. RFC 5280 requires a two-digit year before 2050 and a four-digit year from then on. */
export function time(wallMs: number): Bytes {
  const digits = `${new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-:T]/g, "")}Z`;
  const isShort = digits >= "1950" && digits < "2050";
  return element(isShort ? TAG.utcTime : TAG.generalizedTime, utf8Bytes(isShort ? digits.slice(2) : digits));
}

/** Context-specific tag "[n]": explicit around whole elements, or implicit in place of a primitive element's tag. */
export const contextOf = (number: number, ...parts: readonly Bytes[]): Bytes => element(0xa0 | number, ...parts);
export const contextPlain = (number: number, content: Bytes): Bytes => element(0x80 | number, content);

/**
 * A strict DER reader. It throws a `DerError` for a length that is not in its shortest form or exceeds the enclosing
 * bytes.
 */
import { utf8Text } from "../utf8.ts";
import { TAG } from "./tags.ts";

export class DerError extends Error {
  override readonly name = "DerError";
}

export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Includes the tag and the length. */
  readonly whole: Uint8Array;
}

/** Reads exactly one element. */
export function readDer(bytes: Uint8Array): DerElement {
  const [only, ...more] = readAll(bytes);
  if (only === undefined || more.length > 0) throw new DerError("not one element of DER");
  return only;
}

/** The elements inside a sequence, a set or another constructed element. */
export const members = ({ content }: DerElement): readonly DerElement[] => readAll(content);

function readAll(bytes: Uint8Array): readonly DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; at += elements.at(-1)?.whole.length ?? 0) {
    elements.push(readOne(bytes.subarray(at)));
  }
  return elements;
}

/** Three bytes of length are more than any certificate needs. */
const LENGTH_BYTES_MAX = 3;

function readOne(bytes: Uint8Array): DerElement {
  const [tag = 0, first] = bytes;
  if ((tag & 0x1f) === 0x1f) throw new DerError("a tag of more than one byte");
  if (first === undefined) throw new DerError("cut off");
  const extra = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || extra > LENGTH_BYTES_MAX) throw new DerError("a length that DER does not have");
  const from = 2 + extra;
  const length = extra === 0 ? first : bytes.subarray(2, from).reduce((sum, byte) => sum * 256 + byte, 0);
  if (extra > 0 && length < Math.max(0x80, 256 ** (extra - 1)))
    throw new DerError("a length in more bytes than needed");
  if (bytes.length < from + length) throw new DerError("cut off");
  return { tag, content: bytes.subarray(from, from + length), whole: bytes.subarray(0, from + length) };
}

/** Throws unless the element has this tag. */
export function expectTag(element: DerElement | undefined, tag: number): DerElement {
  if (element?.tag !== tag) throw new DerError(`type ${element?.tag ?? "nothing"} where ${tag} belongs`);
  return element;
}

export function objectIdOf(element: DerElement | undefined): string {
  const { content } = expectTag(element, TAG.objectId);
  const numbers: number[] = [];
  let value = 0;
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    if (numbers.length === 0)
      numbers.push(Math.min(Math.floor(value / 40), 2), value - 40 * Math.min(Math.floor(value / 40), 2));
    else numbers.push(value);
    value = 0;
  }
  if (numbers.length === 0 || (content.at(-1) ?? 0) >= 0x80) throw new DerError("an identifier that is cut off");
  return numbers.join(".");
}

/** Reads the string types that X.509 names use. */
export function textOf({ tag, content }: DerElement): string {
  const wide = tag === TAG.bmpString;
  const latin = tag === TAG.teletexString;
  const read = wide || latin ? String.fromCharCode(...(wide ? pairs(content) : content)) : utf8Text(content);
  if (read === undefined) throw new DerError("a text that is no UTF-8");
  return read;
}

const pairs = (bytes: Uint8Array): readonly number[] =>
  Array.from(
    { length: Math.floor(bytes.length / 2) },
    (_, index) => (bytes[2 * index] ?? 0) * 256 + (bytes[2 * index + 1] ?? 0),
  );

const TIME = /^(?<year>\d{2}|\d{4})(?<rest>\d{10})Z$/;

/** Returns wall-clock milliseconds. */
export function timeOf({ tag, content }: DerElement): number {
  const { year = "", rest = "" } = TIME.exec(utf8Text(content) ?? "")?.groups ?? {};
  if (year.length !== (tag === TAG.generalizedTime ? 4 : 2)) throw new DerError("not a time");
  const century = year.length === 4 ? "" : Number(year) < 50 ? "20" : "19";
  const [month, day, hour, minute, second] = rest.match(/\d\d/g) ?? [];
  const wallMs = Date.parse(`${century}${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(wallMs)) throw new DerError("not a time");
  return wallMs;
}

/** Formats text as Go does, so that messages match those that people and tools search for in the Go kubelet. */
import { utf8Text } from "./utf8.ts";

const SHORT: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
]);
const PRINTED = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

const SPECIAL = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** Like Go's %q. */
export const goQuote = (text: string): string => `"${text.toWellFormed().replace(SPECIAL, escaped)}"`;

function escaped(character: string): string {
  const short = SHORT.get(character);
  if (short !== undefined) return short;
  if (PRINTED.test(character)) return character;
  const point = character.codePointAt(0) ?? 0;
  const digits = point.toString(16);
  if (point < 0x80) return hexByte(point);
  return point < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

const CHARACTER_BYTES_MAX = 4;

/** Like Go's %q for bytes: invalid UTF-8 is shown byte by byte. */
export function goQuoteBytes(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const character = characterAt(bytes, at);
    parts.push(character === undefined ? hexByte(bytes[at] ?? 0) : escaped(character.text));
    at += character?.length ?? 1;
  }
  return `"${parts.join("")}"`;
}

function characterAt(bytes: Uint8Array, at: number): { readonly text: string; readonly length: number } | undefined {
  for (let length = 1; length <= CHARACTER_BYTES_MAX && at + length <= bytes.length; length += 1) {
    const text = utf8Text(bytes.subarray(at, at + length));
    if (text !== undefined) return { text, length };
  }
  return undefined;
}

const hexByte = (byte: number) => `\\x${byte.toString(16).padStart(2, "0")}`;

/** Joins error messages: one stands alone, several distinct ones are joined in brackets. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}

/** Converts between text and UTF-8 for layers without a platform encoder. */

/** Half a surrogate pair becomes U+FFFD. */
export function utf8Bytes(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of text.toWellFormed()) {
    const point = character.codePointAt(0) ?? 0;
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), tail(point));
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), tail(point >> 6), tail(point));
    else bytes.push(0xf0 | (point >> 18), tail(point >> 12), tail(point >> 6), tail(point));
  }
  return Uint8Array.from(bytes);
}

const tail = (bits: number) => 0x80 | (bits & 0x3f);

/**
 * The lead bytes of multi-byte characters: `tails` continuation bytes follow; `from` is the first code point of that
 * length.
 */
const LEADS = [
  { mark: 0xc0, mask: 0xe0, tails: 1, from: 0x80 },
  { mark: 0xe0, mask: 0xf0, tails: 2, from: 0x800 },
  { mark: 0xf0, mask: 0xf8, tails: 3, from: 0x10000 },
] as const;

/** The number of arguments that a call takes safely. */
const PLAIN_AT_ONCE = 4096;

function endOfAscii(bytes: Uint8Array, from: number): number {
  const most = Math.min(bytes.length, from + PLAIN_AT_ONCE);
  for (let at = from; at < most; at += 1) if ((bytes[at] ?? 0) >= 0x80) return at;
  return most;
}

/** Undefined if the bytes are not valid UTF-8. A byte order mark is an ordinary character. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const plainEnd = endOfAscii(bytes, at);
    if (plainEnd > at) {
      parts.push(String.fromCharCode(...bytes.subarray(at, plainEnd)));
      at = plainEnd;
      continue;
    }
    const first = bytes[at] ?? 0;
    const lead = LEADS.find(({ mark, mask }) => (first & mask) === mark);
    if (lead === undefined) return undefined;
    const tails = bytes.subarray(at + 1, at + 1 + lead.tails);
    if (tails.length < lead.tails || tails.some((byte) => (byte & 0xc0) !== 0x80)) return undefined;
    const point = tails.reduce((bits, byte) => (bits << 6) | (byte & 0x3f), first & ~lead.mask);
    const isHalf = point >= 0xd800 && point < 0xe000;
    if (point < lead.from || point > 0x10ffff || isHalf) return undefined;
    parts.push(String.fromCodePoint(point));
    at += 1 + tails.length;
  }
  return parts.join("");
}

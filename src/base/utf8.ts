/** The UTF-8 bytes of a text, for hashing where no platform encoder is in reach. Half a surrogate pair becomes U+FFFD. */
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

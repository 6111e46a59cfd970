/** Cuts text to a number of UTF-8 bytes without breaking a character. */
function bytesOf(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}

export function firstBytes(text: string, bytesMax: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += bytesOf(character);
    if (bytes > bytesMax) return text.slice(0, end);
    end += character.length;
  }
  return text;
}

export function lastBytes(text: string, bytesMax: number): string {
  let bytes = 0;
  let start = text.length;
  for (const character of Array.from(text).toReversed()) {
    bytes += bytesOf(character);
    if (bytes > bytesMax) return text.slice(start);
    start -= character.length;
  }
  return text;
}

/** The whole text, or its first bytes and the number of characters that were cut off. */
export function boundedText(text: string, bytesMax: number): string {
  const kept = firstBytes(text, bytesMax);
  return kept.length === text.length ? text : `${kept}... (${text.length - kept.length} more characters)`;
}

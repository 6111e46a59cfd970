/** Texts as Go prints them: what people and tools already look for in the Go kubelet's messages. */

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

/** Like %q. */
export const goQuote = (text: string): string => `"${Array.from(text.toWellFormed(), escaped).join("")}"`;

function escaped(character: string): string {
  const short = SHORT.get(character);
  if (short !== undefined) return short;
  if (PRINTED.test(character)) return character;
  const point = character.codePointAt(0) ?? 0;
  const digits = point.toString(16);
  if (point < 0x80) return `\\x${digits.padStart(2, "0")}`;
  return point < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

/** Several errors at once: one stands alone, more are bracketed, each text once. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}

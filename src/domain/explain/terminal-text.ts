/** Text for a terminal of 120 columns. */

export const COLUMNS = 120;

export function hanging(head: string, text: string): readonly string[] {
  const indent = Math.min(head.length, COLUMNS / 3);
  const [first = "", ...rest] = wrapped(`${head}${text}`, COLUMNS, indent);
  return [first, ...rest];
}

/**
 * Containers choose parts of the text, so characters that would move a terminal's cursor or change its colors are shown
 * as code points.
 */
export const printable = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const point = (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
    return `\\u${point}`;
  });

/** JSON with a final newline; control and format characters inside its strings are escaped, which JSON does not require. */
export const jsonText = (value: unknown): string =>
  `${JSON.stringify(value, null, 2).replaceAll(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
      .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
      .join(""),
  )}\n`;

/** Breaks at spaces where there are some; indents every line but the first. */
export function wrapped(text: string, columns: number, indent = 0): readonly string[] {
  const lines: string[] = [];
  let left = printable(text.replaceAll(/\s*\n\s*/g, " "));
  while (left.length > columns) {
    const at = left.lastIndexOf(" ", columns);
    const end = at > indent + 1 ? at : columns;
    lines.push(left.slice(0, end));
    left = " ".repeat(indent) + left.slice(end).trimStart();
  }
  return [...lines, left];
}

/** Markdown that shows the names of tests and the messages of failures as they are. */

/** Cells are not escaped: external text goes through `plain` first. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);

/**
 * Escapes text. Names contain asterisks, bars and brackets; a bracket right before a parenthesis would begin a link.
 */
export const plain = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\`*_|]/g, String.raw`\$&`)
    .replaceAll("<", "&lt;")
    .replaceAll("](", "] (");

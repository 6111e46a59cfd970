/** Markdown that shows the names of tests and the words of failures as they are. */

/** Cells are taken as they come: what is not ours goes through `plain` first. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);

/** Names hold stars, bars and brackets; a bracket right before a parenthesis would begin a link. */
export const plain = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\`*_|]/g, String.raw`\$&`)
    .replaceAll("<", "&lt;")
    .replaceAll("](", "] (");

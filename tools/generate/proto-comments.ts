/** Removes comments and empty lines from the text of a .proto file. Strings that look like comments stay. */
export function withoutComments(proto: string): string {
  return proto
    .replace(
      /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
      (_match, text?: string) => text ?? " ",
    )
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

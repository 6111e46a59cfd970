/** A .proto file's text without its comments and the empty lines they leave; strings keep what looks like one. */
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

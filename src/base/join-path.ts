/** Joins the parts into one absolute, normalized path: `/a`, `./b//../c` give `/a/c`. ".." stops at the root. */
export function joinPath(...parts: readonly string[]): string {
  const names: string[] = [];
  for (const name of parts.join("/").split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

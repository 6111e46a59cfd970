/** The parts as one path, without what leads nowhere: `/a`, `./b//../c` are `/a/c`. Nothing leads above the root. */
export function joinPath(...parts: readonly string[]): string {
  const names: string[] = [];
  for (const name of parts.join("/").split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

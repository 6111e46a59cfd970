/** Which test files run real parts: those that start a cluster or a guest, by themselves or by what they import. */
import { dirname, join } from "node:path";
import { importsOf } from "../layers.ts";

const HARNESS = ["test/cluster/cluster.ts", "test/guest/guests.ts"];

/** `read` answers with a file's text, or undefined when there is none; paths are relative to the repository. */
export function startsRealParts(file: string, read: (file: string) => string | undefined): boolean {
  const seen = new Set<string>();
  const waiting = [file];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (HARNESS.includes(next)) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    const folder = dirname(next);
    const imported = importsOf(read(next) ?? "").filter((name) => name.startsWith("."));
    waiting.push(...imported.map((name) => join(folder, name)));
  }
  return false;
}

/** Small files of /proc, /sys and /etc, below a root that a test may choose. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export class KernelFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  path(path: string): string {
    return join(this.#root, path);
  }

  read(path: string): Promise<string> {
    return readFile(this.path(path), "utf8");
  }

  /** The first of these that can be read, without the space around it; undefined when none can. */
  async readFirst(...paths: readonly string[]): Promise<string | undefined> {
    for (const path of paths) {
      // Which of them is there differs between machines; one that is there and not readable counts as absent, as upstream has it.
      const content = await this.read(path).catch(() => undefined);
      if (content !== undefined) return content.replaceAll("\0", "").trim();
    }
    return undefined;
  }

  /** Entries that match, sorted; none when there is no such folder. */
  async list(path: string, pattern: RegExp): Promise<readonly string[]> {
    const names = await readdir(this.path(path)).catch(() => []);
    return names.filter((name) => pattern.test(name)).sort();
  }
}

/** The number after a key, in a file of lines `key value` or `key: value kB`. */
function numberOf(content: string, key: string): bigint | undefined {
  for (const line of content.split("\n")) {
    const [name, value] = line.split(/[\s:]+/, 2);
    if (name === key && value !== undefined && /^\d+$/.test(value)) return BigInt(value);
  }
  return undefined;
}

export function requiredNumberOf(content: string, key: string, path: string): bigint {
  const value = numberOf(content, key);
  if (value === undefined) throw new Error(`${path} has no ${key}`);
  return value;
}

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

  /** The first of these files that can be read, without surrounding white space; undefined if none can. */
  async readFirst(...paths: readonly string[]): Promise<string | undefined> {
    for (const path of paths) {
      // Which of them exists differs between machines. A file that exists but cannot be read counts as absent, as
      // upstream.
      const content = await this.read(path).catch(() => undefined);
      if (content !== undefined) return content.replaceAll("\0", "").trim();
    }
    return undefined;
  }

  /** The entries that match, sorted; empty if the directory does not exist. */
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

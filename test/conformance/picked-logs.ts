/**
 * Extracts from the logs of a node the lines about failed tests: those that name one of a test's namespaces, pods,
 * sandboxes or containers. A line goes to the directory of each test that it is about.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { appendFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

const TOKEN = /[a-z0-9]+(?:-[a-z0-9]+)*/g;
/** The ID of a container or sandbox, or the UID of a pod. */
const ID = /^(?:[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const NAME_CHARS = 120;
const HASH_CHARS = 8;

/** A test's name as a directory name. Two long names that begin alike differ by the hash of the whole name. */
export function directoryName(test: string): string {
  const name = test.replaceAll(/[^A-Za-z0-9]+/g, "-").replaceAll(/^-|-$/g, "");
  if (name.length <= NAME_CHARS) return name;
  const hash = createHash("sha256").update(test).digest("hex").slice(0, HASH_CHARS);
  return `${name.slice(0, NAME_CHARS - HASH_CHARS - 1)}-${hash}`;
}

export interface NodeLogs {
  readonly runtime: string;
  readonly agent: string;
  /** The node's directory of the layout. */
  readonly node: string;
}

export class PickedLogs {
  /** The names and IDs of namespaces, pods, sandboxes and containers → the directory of their test. */
  readonly #owners = new Map<string, string>();

  /** Lines with this token belong to the test of this directory. */
  own(token: string, directory: string): void {
    this.#owners.set(token, directory);
  }

  /** IDs that occur in the test's own text belong to the test too. */
  learn(text: string, directory: string): void {
    for (const [token] of text.matchAll(TOKEN)) {
      if (ID.test(token) && !this.#owners.has(token)) this.#owners.set(token, directory);
    }
  }

  async pick({ runtime, agent, node }: NodeLogs): Promise<void> {
    if (this.#owners.size === 0) return;
    await this.#pick(runtime, "cri.log", true);
    await this.#pick(agent, "agent.log", false);
    const journal = join(node, "lib", "kubelet", "deckhand", "journal");
    const segments = await readdir(journal).catch((): string[] => []); // The Go kubelet has none.
    for (const segment of segments.toSorted()) await this.#pick(join(journal, segment), "journal.log", false);
  }

  async #pick(file: string, as: string, learning: boolean): Promise<void> {
    const picked = new Map<string, string[]>();
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      const directories = new Set<string>();
      for (const [token] of line.matchAll(TOKEN)) {
        const directory = this.#owners.get(token);
        if (directory !== undefined) directories.add(directory);
      }
      for (const directory of directories) {
        const lines = picked.get(directory) ?? [];
        lines.push(line);
        picked.set(directory, lines);
        if (learning && directories.size === 1) this.learn(line, directory);
      }
    }
    for (const [directory, lines] of picked) await appendFile(join(directory, as), `${lines.join("\n")}\n`);
  }
}

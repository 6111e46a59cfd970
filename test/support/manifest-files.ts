/**
 * The simulator's files, with additions for tests of manifests: pipes, unreadable files, and a watch that reports
 * nothing.
 */
import { FakeFiles } from "../../sim/fake-files.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { DirectoryHint, HostFiles } from "../../src/ports/host-files.ts";

type ManifestPort = Pick<HostFiles, "facts" | "list" | "read" | "readLink" | "watch">;

export class ManifestFiles {
  /** Paths whose reads and lists fail with `notPermitted`. */
  readonly broken = new Set<string>();
  reads = 0;
  /** Whether watchers are notified of changes. */
  hints = true;
  readonly #fake: FakeFiles;
  #recreated: ReadonlySet<string> = new Set();
  readonly #pipes = new Set<string>();

  constructor(clock: Clock) {
    this.#fake = new FakeFiles({ clock });
    this.#fake.faultFor = ({ operation, path }) => {
      if (operation === "read") this.reads += 1;
      const fails = this.broken.has(path) && (operation === "read" || operation === "list");
      return fails ? { code: "notPermitted", effect: "none" } : undefined;
    };
  }

  get port(): ManifestPort {
    const { port } = this.#fake;
    return {
      ...port,
      facts: async (path) => {
        const found = await port.facts(path);
        return found !== undefined && this.#pipes.has(path) ? { ...found, kind: "other" } : found;
      },
      watch: (path, signal) => this.#heard(port.watch(path, signal)),
    };
  }

  async directory(path: string): Promise<void> {
    await this.#fake.port.makeDirectory(path, 0o755);
  }

  async file(path: string, content: string | Uint8Array): Promise<void> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await this.directory(path.slice(0, path.lastIndexOf("/")));
    await this.#fake.port.writeAtomically(path, bytes, 0o600);
  }

  async link(path: string, target: string): Promise<void> {
    await this.directory(path.slice(0, path.lastIndexOf("/")));
    await this.#fake.port.link(target, path);
  }

  async pipe(path: string): Promise<void> {
    await this.file(path, "");
    this.#pipes.add(path);
  }

  async remove(path: string): Promise<void> {
    await this.#fake.port.removeFile(path);
  }

  /** The next hint says that these files were removed and created again. */
  recreate(names: ReadonlySet<string>): void {
    this.#recreated = names;
  }

  async *#heard(hints: AsyncIterable<DirectoryHint>): AsyncGenerator<DirectoryHint, void, undefined> {
    for await (const { recreated } of hints) {
      if (!this.hints) continue;
      yield { recreated: new Set([...recreated, ...this.#recreated]) };
      this.#recreated = new Set();
    }
  }
}

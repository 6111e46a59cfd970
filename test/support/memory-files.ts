/** Local files in memory, as far as a test of a loop needs them. */
import { LatestCell } from "../../src/concurrency/latest-cell.ts";
import { type FileFacts, HostFileError, type HostFiles } from "../../src/ports/host-files.ts";

type Entry =
  | { readonly kind: "file"; readonly content: Uint8Array }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "folder" | "other" };

export class MemoryFiles implements Pick<HostFiles, "facts" | "list" | "read" | "readLink" | "watch"> {
  readonly #entries = new Map<string, Entry>();
  readonly #changes = new LatestCell(0);
  /** Paths that cannot be read for another reason than being absent. */
  readonly broken = new Set<string>();
  reads = 0;
  /** Whether a change is told to those who watch. */
  hints = true;

  folder(path: string): void {
    this.#put(path, { kind: "folder" });
  }

  file(path: string, content: string | Uint8Array): void {
    this.#put(path, {
      kind: "file",
      content: typeof content === "string" ? new TextEncoder().encode(content) : content,
    });
  }

  link(path: string, target: string): void {
    this.#put(path, { kind: "link", target });
  }

  fifo(path: string): void {
    this.#put(path, { kind: "other" });
  }

  remove(path: string): void {
    this.#entries.delete(path);
    this.#changed();
  }

  facts(path: string): Promise<FileFacts | undefined> {
    const entry = this.#entries.get(path);
    if (entry === undefined) return Promise.resolve(undefined);
    const sizeBytes = entry.kind === "file" ? entry.content.length : 0;
    return Promise.resolve({ kind: entry.kind, sizeBytes, mode: 0o644, modifiedWallNs: 0n });
  }

  list(path: string): Promise<readonly string[]> {
    if (this.broken.has(path)) return Promise.reject(new HostFileError("list", path, "other", "input/output error"));
    if (!this.#entries.has(path)) return Promise.reject(new HostFileError("list", path, "notFound", "no such folder"));
    const inside = [...this.#entries.keys()].filter((name) => name.slice(0, name.lastIndexOf("/")) === path);
    return Promise.resolve(inside.map((name) => name.slice(path.length + 1)).toSorted());
  }

  read(path: string, bytesMax: number): Promise<Uint8Array> {
    this.reads += 1;
    const entry = this.#entries.get(path);
    if (this.broken.has(path))
      return Promise.reject(new HostFileError("read", path, "notPermitted", "permission denied"));
    if (entry?.kind !== "file") return Promise.reject(new HostFileError("read", path, "notFound", "no such file"));
    if (entry.content.length > bytesMax)
      return Promise.reject(new HostFileError("read", path, "tooLarge", "too large"));
    return Promise.resolve(entry.content);
  }

  readLink(path: string): Promise<string> {
    const entry = this.#entries.get(path);
    if (entry?.kind !== "link") return Promise.reject(new HostFileError("readLink", path, "other", "not a link"));
    return Promise.resolve(entry.target);
  }

  async *watch(path: string, signal: AbortSignal): AsyncGenerator<void, void, undefined> {
    if (!this.#entries.has(path)) throw new HostFileError("watch", path, "notFound", "no such folder");
    for (let seen = this.#changes.version; !signal.aborted; ) {
      try {
        seen = await this.#changes.changed(seen, signal);
      } catch {
        return;
      }
      yield;
    }
  }

  #put(path: string, entry: Entry): void {
    this.#entries.set(path, entry);
    this.#changed();
  }

  #changed(): void {
    if (this.hints) this.#changes.set(this.#changes.value + 1);
  }
}

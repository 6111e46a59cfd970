/** The LogFiles port on the disk of `FakeFiles`. It passes the contract of the real port. */
import { gunzipSync, gzipSync } from "node:zlib";
import { HostFileError, type HostFileErrorCode } from "../src/ports/host-files.ts";
import type { CompressedLog, LogFile, LogFiles } from "../src/ports/log-files.ts";
import type { DiskEntry, DiskFile } from "./fake-disk.ts";
import type { FakeFiles } from "./fake-files.ts";

export class FakeLogFiles implements LogFiles {
  readonly #files: FakeFiles;
  readonly #identities = new WeakMap<DiskEntry, string>();
  #count = 0;

  constructor(files: FakeFiles) {
    this.#files = files;
  }

  async open(path: string): Promise<LogFile | undefined> {
    const file = this.#fileAt("open", path);
    if (file === undefined) return undefined;
    return {
      identity: this.#identityOf(file),
      sizeBytes: async () => file.content.length,
      read: async (into, offsetBytes) => copied(file.content.subarray(offsetBytes), into),
      [Symbol.asyncDispose]: async () => {},
    };
  }

  async openCompressed(path: string): Promise<CompressedLog | undefined> {
    const file = this.#fileAt("open", path);
    if (file === undefined) return undefined;
    let left: Uint8Array | undefined;
    return {
      read: async (into) => {
        left ??= plain(path, file.content);
        const read = copied(left, into);
        left = left.subarray(read);
        return read;
      },
      [Symbol.asyncDispose]: async () => {},
    };
  }

  async identityAt(path: string): Promise<string | undefined> {
    const entry = this.#files.disk.find(path);
    return entry === undefined ? undefined : this.#identityOf(entry);
  }

  async compress(from: string, to: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { disk } = this.#files;
    const source = this.#fileAt("compress", from);
    if (source === undefined) throw fail("compress", from, "notFound");
    this.#removeFile(to);
    const packed = gzipSync(source.content);
    const room = disk.take(to, packed.length);
    if (room < packed.length) {
      disk.take(to, -room);
      throw fail("compress", from, "noSpace");
    }
    this.#files.makeFile(to, source.mode);
    const target = this.#fileAt("compress", to);
    if (target === undefined) throw fail("compress", to, "other");
    target.content = packed;
    target.onDisk = packed;
    disk.syncName(to);
  }

  #removeFile(path: string): void {
    const found = this.#files.disk.find(path);
    if (found !== undefined) this.#files.removeEntries(path, found);
  }

  #fileAt(operation: string, path: string): DiskFile | undefined {
    const entry = this.#files.disk.find(path);
    if (entry === undefined || entry.kind === "file") return entry;
    throw fail(operation, path, entry.kind === "link" ? "notPermitted" : "other");
  }

  #identityOf(entry: DiskEntry): string {
    const known = this.#identities.get(entry);
    if (known !== undefined) return known;
    this.#count += 1;
    this.#identities.set(entry, String(this.#count));
    return String(this.#count);
  }
}

const fail = (operation: string, path: string, code: HostFileErrorCode) =>
  new HostFileError(operation, path, code, code);

function copied(from: Uint8Array, into: Uint8Array): number {
  const part = from.subarray(0, into.length);
  into.set(part);
  return part.length;
}

function plain(path: string, content: Uint8Array): Uint8Array {
  try {
    return gunzipSync(content);
  } catch (error) {
    throw new HostFileError("read", path, "other", "it is no gzip", { cause: error });
  }
}

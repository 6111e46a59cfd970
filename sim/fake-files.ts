/**
 * The HostFiles port on a disk in memory, with crashes, a disk that fills and failures on demand. It passes the contract that the real files
 * pass; `sim/fake-disk.ts` says what a crash leaves.
 */
import { LatestCell } from "../src/concurrency/latest-cell.ts";
import type { Clock } from "../src/ports/clock.ts";
import { type FileFacts, HostFileError, type HostFileErrorCode, type HostFiles } from "../src/ports/host-files.ts";
import type { Random } from "../src/ports/random.ts";
import { Disk, type DiskEntry, type DiskFile, type DiskFolder, folderOf, nameOf, newFolder } from "./fake-disk.ts";

export interface FileCall {
  readonly operation: Exclude<keyof HostFiles, "watch">;
  readonly path: string;
}

export interface FakeFilesOptions {
  readonly clock: Clock;
  /** Awaited before each step of a call: the place for latency and for a crash in the middle. */
  readonly beforeStep?: (call: FileCall) => Promise<void>;
}

/** `effect` says whether the call did its work before its answer got lost. */
export interface FileFault {
  readonly code: HostFileErrorCode;
  readonly effect: "none" | "done";
}

export class FakeFiles {
  readonly disk = new Disk();
  /** Asked at each call. */
  faultFor: (call: FileCall) => FileFault | undefined = () => undefined;
  readonly #options: FakeFilesOptions;
  readonly #watchers = new Map<string, Set<LatestCell<undefined>>>();
  #generation = 0;
  #changes = 0n;

  constructor(options: FakeFilesOptions) {
    this.#options = options;
  }

  /** For one life of the process: after a crash its calls are cut, they neither end nor take effect. */
  get port(): HostFiles {
    const generation = this.#generation;
    const call = <T>(operation: FileCall["operation"], path: string, run: (step: () => Promise<void>) => Promise<T>) =>
      this.#call(generation, { operation, path }, run);
    return {
      facts: (path) => call("facts", path, async () => factsOf(this.disk.find(path))),
      list: (path) => call("list", path, async () => [...this.#folder("list", path).entries.keys()].sort()),
      read: (path, bytesMax) =>
        call("read", path, async () => {
          const { content } = this.#file("read", path);
          if (content.length > bytesMax) throw fail("read", path, "tooLarge");
          return content.slice();
        }),
      readHead: (path, bytesMax) =>
        call("readHead", path, async () => this.#file("read", path).content.slice(0, bytesMax)),
      readTail: (path, bytesMax) =>
        call("readTail", path, async () => {
          const { content } = this.#file("read", path);
          return content.slice(Math.max(0, content.length - bytesMax));
        }),
      writeAtomically: (path, content, mode) =>
        call("writeAtomically", path, (step) => this.#replace(path, content.slice(), mode, step)),
      appendAt: (path, offsetBytes, content) =>
        call("appendAt", path, (step) => this.#appendAt(path, offsetBytes, content.slice(), step)),
      makeFolder: (path, mode) => call("makeFolder", path, async () => this.makeFolder(path, mode)),
      makeFile: (path, mode) => call("makeFile", path, async () => this.#makeFile(path, mode)),
      link: (target, path) => call("link", path, async () => this.#link(target, path)),
      readLink: (path) =>
        call("readLink", path, async () => {
          const entry = this.disk.find(path);
          if (entry === undefined) throw fail("read link", path, "notFound");
          if (entry.kind !== "link") throw fail("read link", path, "other");
          return entry.target;
        }),
      removeFile: (path) => call("removeFile", path, async () => this.#removeFile(path)),
      removeFolder: (path) => call("removeFolder", path, async () => this.#removeFolder(path)),
      removeTree: (path) => call("removeTree", path, async () => this.#removeTree(path)),
      watch: (path, signal) => this.#watch(path, signal),
    };
  }

  /** The machine goes down: calls under way are cut where they are, and chance decides what of the unsynced is left. */
  crash(random: Random): void {
    this.kill();
    this.disk.loseUnsynced(random);
  }

  /** The process goes down, the machine does not: calls under way are cut, and everything written is still seen. */
  kill(): void {
    this.#generation += 1;
    this.#watchers.clear();
  }

  makeFolder(path: string, mode: number, options: { readonly mount?: boolean } = {}): void {
    const found = this.disk.folder(path);
    if (found !== undefined) return;
    if (this.disk.find(path) !== undefined) throw fail("make folder", path, "exists");
    this.makeFolder(folderOf(path), mode);
    this.#put(path, newFolder(mode, this.#now(), options.mount));
  }

  async #call<T>(generation: number, call: FileCall, run: (step: () => Promise<void>) => Promise<T>): Promise<T> {
    const step = async () => {
      await this.#options.beforeStep?.(call);
      if (generation !== this.#generation) await new Promise<never>(() => {});
    };
    await step();
    const fault = this.faultFor(call);
    if (fault?.effect === "none") throw fail(call.operation, call.path, fault.code);
    const result = await run(step);
    await step();
    if (fault !== undefined) throw fail(call.operation, call.path, fault.code);
    return result;
  }

  async #replace(path: string, content: Uint8Array, mode: number, step: () => Promise<void>): Promise<void> {
    const folder = this.#folder("write", folderOf(path));
    const taken = this.disk.take(content.length);
    if (taken < content.length) {
      this.disk.take(-taken);
      throw fail("write", path, "noSpace");
    }
    const temporary = `${folderOf(path)}/.${nameOf(path)}.tmp`;
    const file: DiskFile = { kind: "file", mode, content, onDisk: new Uint8Array(), modifiedWallNs: this.#now() };
    this.#put(temporary, file);
    await step();
    file.onDisk = content;
    await step();
    const before = folder.entries.get(nameOf(path));
    folder.entries.delete(nameOf(temporary));
    if (before?.kind === "folder") throw fail("write", path, "exists");
    if (before?.kind === "file") this.disk.take(-before.content.length);
    this.#put(path, file);
    await step();
    this.disk.syncName(temporary);
    this.disk.syncName(path);
  }

  async #appendAt(path: string, offsetBytes: number, content: Uint8Array, step: () => Promise<void>): Promise<void> {
    const file = this.#file("append to", path);
    if (file.content.length < offsetBytes) throw fail("append to", path, "other");
    this.disk.take(offsetBytes - file.content.length);
    const taken = this.disk.take(content.length);
    file.content = Buffer.concat([file.content.subarray(0, offsetBytes), content.subarray(0, taken)]);
    this.#touch(path, file);
    if (taken < content.length) throw fail("append to", path, "noSpace");
    await step();
    file.onDisk = file.content;
    this.disk.syncName(path);
  }

  #makeFile(path: string, mode: number): void {
    if (this.disk.find(path) !== undefined) throw fail("make file", path, "exists");
    const content = new Uint8Array();
    this.#put(path, { kind: "file", mode, content, onDisk: content, modifiedWallNs: this.#now() });
  }

  #link(target: string, path: string): void {
    const found = this.disk.find(path);
    if (found !== undefined && found.kind !== "link") throw fail("link", path, "exists");
    if (found?.target !== target) this.#put(path, { kind: "link", target, modifiedWallNs: this.#now() });
  }

  #removeFile(path: string): void {
    const found = this.disk.find(path);
    if (found?.kind === "folder") throw fail("remove", path, "exists");
    if (found !== undefined) this.#remove(path, found);
  }

  #removeFolder(path: string): void {
    const found = this.disk.find(path);
    if (found === undefined) return;
    if (found.kind !== "folder") throw fail("remove folder", path, "notFound");
    if (found.mount) throw fail("remove folder", path, "other");
    if (found.entries.size > 0) throw fail("remove folder", path, "notEmpty");
    this.#remove(path, found);
  }

  #removeTree(path: string): void {
    const found = this.disk.find(path);
    if (found === undefined) return;
    if (hasMount(found)) throw fail("remove", path, "notPermitted");
    if (found.kind === "folder") for (const name of found.entries.keys()) this.#removeTree(`${path}/${name}`);
    this.#remove(path, found);
  }

  async *#watch(path: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
    const cell = new LatestCell<undefined>(undefined);
    const cells = this.#watchers.get(path) ?? new Set();
    this.#watchers.set(path, cells.add(cell));
    try {
      for (let seen = -1; ; ) {
        seen = await cell.changed(seen, signal);
        yield;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      cells.delete(cell);
    }
  }

  #folder(operation: string, path: string): DiskFolder {
    const folder = this.disk.folder(path);
    if (folder === undefined) throw fail(operation, path, "notFound");
    return folder;
  }

  #file(operation: string, path: string): DiskFile {
    const entry = this.disk.find(path);
    if (entry === undefined) throw fail(operation, path, "notFound");
    if (entry.kind === "link") throw fail(operation, path, "notPermitted");
    if (entry.kind === "folder") throw fail(operation, path, "other");
    return entry;
  }

  #put(path: string, entry: DiskEntry): void {
    const folder = this.#folder("make", folderOf(path));
    folder.entries.set(nameOf(path), entry);
    folder.modifiedWallNs = this.#now();
    this.#tell(path);
  }

  #remove(path: string, entry: DiskEntry): void {
    if (entry.kind === "file") this.disk.take(-entry.content.length);
    this.#folder("remove", folderOf(path)).entries.delete(nameOf(path));
    this.#tell(path);
  }

  #touch(path: string, file: DiskFile): void {
    file.modifiedWallNs = this.#now();
    this.#tell(path);
  }

  #tell(path: string): void {
    for (const changed of [path, folderOf(path)]) {
      for (const cell of this.#watchers.get(changed) ?? []) cell.set(undefined);
    }
  }

  #now(): bigint {
    this.#changes += 1n;
    return BigInt(Math.trunc(this.#options.clock.wallMs())) * 1_000_000n + this.#changes;
  }
}

const fail = (operation: string, path: string, code: HostFileErrorCode) =>
  new HostFileError(operation, path, code, code);

const hasMount = (entry: DiskEntry): boolean =>
  entry.kind === "folder" && (entry.mount || [...entry.entries.values()].some(hasMount));

function factsOf(entry: DiskEntry | undefined): FileFacts | undefined {
  if (entry === undefined) return undefined;
  const { kind, modifiedWallNs } = entry;
  if (entry.kind === "link") return { kind, sizeBytes: entry.target.length, mode: 0o777, modifiedWallNs };
  return { kind, sizeBytes: entry.kind === "file" ? entry.content.length : 4096, mode: entry.mode, modifiedWallNs };
}

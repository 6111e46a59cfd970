/**
 * The HostFiles port on a disk in memory, with crashes, a disk that fills and failures on demand. It passes the
 * contract of the real files. `sim/fake-disk.ts` says what a crash leaves.
 */
import type { Clock } from "../src/ports/clock.ts";
import {
  type FileFacts,
  HostFileError,
  type HostFileErrorCode,
  type HostFiles,
  type NewFileFacts,
} from "../src/ports/host-files.ts";
import type { Random } from "../src/ports/random.ts";
import { DirectoryWatchers } from "./directory-watchers.ts";
import {
  Disk,
  type DiskDirectory,
  type DiskEntry,
  type DiskFile,
  directoryOf,
  nameOf,
  newDirectory,
  newFile,
  newLink,
} from "./fake-disk.ts";

const SET_GROUP = 0o2000;
const READS: ReadonlySet<string> = new Set(["facts", "list", "read", "readHead", "readTail", "readLink"]);

export interface FileCall {
  readonly operation: Exclude<keyof HostFiles, "watch">;
  readonly path: string;
}

export interface FakeFilesOptions {
  readonly clock: Clock;
  /** Awaited before each step of a call, to add latency or to crash in the middle. */
  readonly beforeStep?: (call: FileCall) => Promise<void>;
}

/** `effect` says whether the call did its work before its reply got lost. */
export interface FileFault {
  readonly code: HostFileErrorCode;
  readonly effect: "none" | "done";
}

export class FakeFiles {
  readonly disk = new Disk();
  /** Called for each call; returns the fault to inject. */
  faultFor: (call: FileCall) => FileFault | undefined = () => undefined;
  /** Called with each path at which an entry appears, disappears or changes. */
  onChange: (path: string) => void = () => {};
  readonly #options: FakeFilesOptions;
  readonly #watchers = new DirectoryWatchers();
  #generation = 0;
  #changes = 0n;

  constructor(options: FakeFilesOptions) {
    this.#options = options;
  }

  /** The port for one process. After a crash its calls are cut: they neither end nor take effect. */
  get port(): HostFiles {
    const generation = this.#generation;
    const call = <T>(operation: FileCall["operation"], path: string, run: (step: () => Promise<void>) => Promise<T>) =>
      this.#call(generation, { operation, path }, run);
    return {
      facts: (path) => call("facts", path, async () => factsOf(this.disk.find(path))),
      list: (path) => call("list", path, async () => [...this.#directory("list", path).entries.keys()].sort()),
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
      appendAt: (path, offsetBytes, content, sync = "synced") =>
        call("appendAt", path, (step) => this.#appendAt(path, offsetBytes, content.slice(), sync, step)),
      overwrite: (path, content, mode) =>
        call("overwrite", path, async () => this.#overwrite(path, content.slice(), mode)),
      makeDirectory: (path, mode) => call("makeDirectory", path, async () => this.makeDirectory(path, mode)),
      makeFile: (path, mode) => call("makeFile", path, async () => this.makeFile(path, mode)),
      writeNew: (path, content, facts) =>
        call("writeNew", path, async () => this.#writeNew(path, content.slice(), facts)),
      setOwner: (path, uid, gid) =>
        call("setOwner", path, async () => void Object.assign(this.#entry("set the owner of", path), { uid, gid })),
      setMode: (path, mode) => call("setMode", path, async () => this.#setMode(path, mode)),
      rename: (from, to) => call("rename", from, async () => this.#rename(from, to)),
      link: (target, path) => call("link", path, async () => this.#link(target, path)),
      readLink: (path) =>
        call("readLink", path, async () => {
          const entry = this.disk.find(path);
          if (entry === undefined) throw fail("read link", path, "notFound");
          if (entry.kind !== "link") throw fail("read link", path, "other");
          return entry.target;
        }),
      removeFile: (path) => call("removeFile", path, async () => this.#removeFile(path)),
      removeDirectory: (path) => call("removeDirectory", path, async () => this.#removeDirectory(path)),
      removeTree: (path) => call("removeTree", path, async () => this.#removeTree(path)),
      watch: (path, signal) => this.#watchers.watch(path, signal),
    };
  }

  /**
   * The machine crashes: calls in progress are cut where they are, and chance decides which unsynced changes remain.
   */
  crash(random: Random): void {
    this.kill();
    this.disk.loseUnsynced(random);
  }

  /**
   * The process is killed and the machine keeps running: calls in progress are cut, and everything written stays
   * visible.
   */
  kill(): void {
    this.#generation += 1;
    this.#watchers.clear();
  }

  /** Notifies watchers of a write to a file that was opened at this path. The file may have moved since. */
  written(path: string): void {
    this.#watchers.tell(path);
  }

  makeDirectory(path: string, mode: number): void {
    const found = this.disk.directory(path);
    if (found !== undefined) return;
    if (this.disk.find(path) !== undefined) throw fail("make directory", path, "exists");
    this.makeDirectory(directoryOf(path), mode);
    this.#make(path, newDirectory(mode, this.#now()));
  }

  async #call<T>(generation: number, call: FileCall, run: (step: () => Promise<void>) => Promise<T>): Promise<T> {
    const step = async () => {
      await this.#options.beforeStep?.(call);
      if (generation !== this.#generation) await new Promise<never>(() => {});
    };
    await step();
    // This port does not guard against dead file systems: a call on a dead path waits forever.
    if (this.disk.mounts.isDead(call.path)) await new Promise<never>(() => {});
    const fault = this.faultFor(call);
    if (fault?.effect === "none") throw fail(call.operation, call.path, fault.code);
    if (!READS.has(call.operation) && this.#isReadOnly(call.path)) throw fail(call.operation, call.path, "readOnly");
    const result = await run(step);
    await step();
    if (fault !== undefined) throw fail(call.operation, call.path, fault.code);
    return result;
  }

  async #replace(path: string, content: Uint8Array, mode: number, step: () => Promise<void>): Promise<void> {
    const directory = this.#directory("write", directoryOf(path));
    const taken = this.disk.take(path, content.length);
    if (taken < content.length) {
      this.disk.take(path, -taken);
      throw fail("write", path, "noSpace");
    }
    const temporary = `${directoryOf(path)}/.${nameOf(path)}.tmp`;
    const file = newFile(mode, this.#now(), content);
    this.#make(temporary, file);
    await step();
    file.onDisk = content;
    await step();
    const before = directory.entries.get(nameOf(path));
    directory.entries.delete(nameOf(temporary));
    if (before?.kind === "directory") throw fail("write", path, "exists");
    if (before?.kind === "file") this.disk.take(path, -before.content.length);
    this.#put(path, file);
    await step();
    this.disk.syncName(temporary);
    this.disk.syncName(path);
  }

  async #appendAt(
    path: string,
    offsetBytes: number,
    content: Uint8Array,
    sync: "synced" | "unsynced",
    step: () => Promise<void>,
  ): Promise<void> {
    const file = this.#file("append to", path);
    if (file.content.length < offsetBytes) throw fail("append to", path, "other");
    this.disk.take(path, offsetBytes - file.content.length);
    const taken = this.disk.take(path, content.length);
    file.content = Buffer.concat([file.content.subarray(0, offsetBytes), content.subarray(0, taken)]);
    this.#touch(path, file);
    if (taken < content.length) throw fail("append to", path, "noSpace");
    if (sync === "unsynced") return;
    await step();
    file.onDisk = file.content;
    this.disk.syncName(path);
  }

  #overwrite(path: string, content: Uint8Array, mode: number): void {
    const found = this.disk.find(path);
    if (found?.kind === "directory") throw fail("write", path, "exists");
    if (found === undefined) this.makeFile(path, mode);
    const file = this.#file("write", path);
    const grown = content.length - file.content.length;
    const taken = this.disk.take(path, grown);
    if (taken < grown) {
      this.disk.take(path, -taken);
      throw fail("write", path, "noSpace");
    }
    file.content = content;
    file.mode = mode;
    this.#touch(path, file);
  }

  makeFile(path: string, mode: number): void {
    if (this.disk.find(path) !== undefined) throw fail("make file", path, "exists");
    this.#make(path, newFile(mode, this.#now(), new Uint8Array()));
  }

  #writeNew(path: string, content: Uint8Array, { mode, uid, gid }: NewFileFacts): void {
    if (this.disk.find(path) !== undefined) throw fail("write", path, "exists");
    const file = newFile(mode, this.#now(), content);
    this.#make(path, file);
    file.uid = uid ?? file.uid;
    file.gid = gid ?? file.gid;
    const taken = this.disk.take(path, content.length);
    if (taken === content.length) return;
    this.disk.take(path, -taken);
    this.#directory("write", directoryOf(path)).entries.delete(nameOf(path));
    throw fail("write", path, "noSpace");
  }

  #setMode(path: string, mode: number): void {
    const entry = this.#entry("set the mode of", path);
    if (entry.kind === "link") throw fail("set the mode of", path, "notPermitted");
    entry.mode = mode;
  }

  #rename(from: string, to: string): void {
    const entry = this.#entry("rename", from);
    const directory = this.#directory("rename", directoryOf(to));
    const before = directory.entries.get(nameOf(to));
    if (before === entry) return;
    const mountOf = (path: string) => this.disk.follow(directoryOf(path))?.mount;
    if (mountOf(from) !== mountOf(to) || this.isMountPoint(from) || this.isMountPoint(to)) {
      throw fail("rename", from, "other");
    }
    if (entry.kind === "directory" && `${to}/`.startsWith(`${from}/`)) throw fail("rename", from, "other");
    if (before?.kind === "directory" && entry.kind !== "directory") throw fail("rename", from, "exists");
    if (before !== undefined && before.kind !== "directory" && entry.kind === "directory") {
      throw fail("rename", from, "notFound");
    }
    if (before?.kind === "directory" && before.entries.size > 0) throw fail("rename", from, "notEmpty");
    if (before?.kind === "file") this.disk.take(to, -before.content.length);
    this.#directory("rename", directoryOf(from)).entries.delete(nameOf(from));
    this.#put(to, entry);
    this.#tell(from, true);
  }

  #link(target: string, path: string): void {
    const found = this.disk.find(path);
    if (found !== undefined && found.kind !== "link") throw fail("link", path, "exists");
    if (found?.target !== target) this.#make(path, newLink(target, this.#now()));
  }

  #removeFile(path: string): void {
    const found = this.disk.find(path);
    if (this.isMountPoint(path)) throw fail("remove", path, "other");
    if (found?.kind === "directory") throw fail("remove", path, "exists");
    if (found !== undefined) this.#remove(path, found);
  }

  #removeDirectory(path: string): void {
    const found = this.disk.find(path);
    if (found === undefined) return;
    if (found.kind !== "directory") throw fail("remove directory", path, "notFound");
    if (this.isMountPoint(path)) throw fail("remove directory", path, "other");
    if (found.entries.size > 0) throw fail("remove directory", path, "notEmpty");
    this.#remove(path, found);
  }

  #removeTree(path: string): void {
    const found = this.disk.locate(path);
    if (found === undefined) return;
    if (this.disk.mounts.within(found.path).length > 0) throw fail("remove", path, "notPermitted");
    this.removeEntries(found.path, found.entry);
  }

  /** Removes an entry and everything below it. Nothing may be mounted inside. */
  removeEntries(path: string, entry: DiskEntry): void {
    if (entry.kind === "directory")
      for (const [name, below] of entry.entries) this.removeEntries(`${path}/${name}`, below);
    this.#remove(path, entry);
  }

  isMountPoint(path: string): boolean {
    const found = this.disk.locate(path);
    return found !== undefined && found.path !== "/" && found.path === found.mount.path;
  }

  #isReadOnly(path: string): boolean {
    return (this.disk.locate(path) ?? this.disk.follow(directoryOf(path)))?.mount.isReadOnly ?? false;
  }

  #directory(operation: string, path: string): DiskDirectory {
    const directory = this.disk.directory(path);
    if (directory === undefined) throw fail(operation, path, "notFound");
    return directory;
  }

  #file(operation: string, path: string): DiskFile {
    const entry = this.disk.find(path);
    if (entry === undefined) throw fail(operation, path, "notFound");
    if (entry.kind === "link") throw fail(operation, path, "notPermitted");
    if (entry.kind === "directory") throw fail(operation, path, "other");
    return entry;
  }

  #entry(operation: string, path: string): DiskEntry {
    const entry = this.disk.find(path);
    if (entry === undefined) throw fail(operation, path, "notFound");
    return entry;
  }

  /** Adds a new entry. A directory with the set-group-ID bit passes its group on to it. */
  #make(path: string, entry: DiskEntry): void {
    const directory = this.#directory("make", directoryOf(path));
    if ((directory.mode & SET_GROUP) !== 0) entry.gid = directory.gid;
    this.#put(path, entry);
  }

  #put(path: string, entry: DiskEntry): void {
    const directory = this.#directory("make", directoryOf(path));
    directory.entries.set(nameOf(path), entry);
    directory.modifiedWallNs = this.#now();
    this.#tell(path);
  }

  #remove(path: string, entry: DiskEntry): void {
    if (entry.kind === "file") this.disk.take(path, -entry.content.length);
    this.#directory("remove", directoryOf(path)).entries.delete(nameOf(path));
    this.#tell(path, true);
  }

  #touch(path: string, file: DiskFile): void {
    file.modifiedWallNs = this.#now();
    this.#tell(path);
  }

  #tell(path: string, isRemoved = false): void {
    this.onChange(path);
    this.#watchers.tell(path, isRemoved);
  }

  #now(): bigint {
    this.#changes += 1n;
    return BigInt(Math.trunc(this.#options.clock.wallMs())) * 1_000_000n + this.#changes;
  }
}

const fail = (operation: string, path: string, code: HostFileErrorCode) =>
  new HostFileError(operation, path, code, code);

function factsOf(entry: DiskEntry | undefined): FileFacts | undefined {
  if (entry === undefined) return undefined;
  const { kind, mode, uid, gid, modifiedWallNs } = entry;
  return { kind, sizeBytes: sizeOf(entry), mode, uid, gid, modifiedWallNs };
}

function sizeOf(entry: DiskEntry): number {
  if (entry.kind === "directory") return 4096;
  return entry.kind === "file" ? entry.content.length : entry.target.length;
}

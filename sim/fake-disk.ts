/**
 * A disk with a page cache: what processes see, and what a machine crash leaves of it. `sim/disk-mounts.ts` holds what
 * is mounted over the disk; every path is resolved through it.
 *
 * Each directory has its names, and each file its bytes, twice: as seen and as on disk. A sync makes them equal. A
 * crash picks by chance, for each name, whether its last change survives. For each file it picks the old bytes, the new
 * ones, or a part cut or zeroed at a multiple of 512.
 */
import { HostFileError } from "../src/ports/host-files.ts";
import type { Random } from "../src/ports/random.ts";
import { type DiskMount, DiskMounts } from "./disk-mounts.ts";

const SECTOR_BYTES = 512;
const LINKS_MAX = 40;

interface Owned {
  mode: number;
  uid: number;
  gid: number;
  modifiedWallNs: bigint;
}

export interface DiskFile extends Owned {
  readonly kind: "file";
  content: Uint8Array;
  onDisk: Uint8Array;
}

export interface DiskDirectory extends Owned {
  readonly kind: "directory";
  readonly entries: Map<string, DiskEntry>;
  onDisk: Map<string, DiskEntry>;
}

interface DiskLink extends Owned {
  readonly kind: "link";
  readonly target: string;
}

export type DiskEntry = DiskFile | DiskDirectory | DiskLink;

/** An entry and how it was reached. */
export interface Located {
  readonly entry: DiskEntry;
  readonly mount: DiskMount;
  /** The path without intermediate links. */
  readonly path: string;
}

const ownedByRoot = (mode: number, modifiedWallNs: bigint): Owned => ({ mode, uid: 0, gid: 0, modifiedWallNs });

export const newDirectory = (mode: number, modifiedWallNs: bigint): DiskDirectory => ({
  kind: "directory",
  ...ownedByRoot(mode, modifiedWallNs),
  entries: new Map(),
  onDisk: new Map(),
});

/** None of the content is on disk yet. */
export const newFile = (mode: number, modifiedWallNs: bigint, content: Uint8Array): DiskFile => ({
  kind: "file",
  ...ownedByRoot(mode, modifiedWallNs),
  content,
  onDisk: new Uint8Array(),
});

export const newLink = (target: string, modifiedWallNs: bigint): DiskLink => ({
  kind: "link",
  ...ownedByRoot(0o777, modifiedWallNs),
  target,
});

export const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
export const directoryOf = (path: string) => path.slice(0, Math.max(1, path.lastIndexOf("/")));
export const joined = (directory: string, name: string) => (directory === "/" ? `/${name}` : `${directory}/${name}`);

const partsOf = (path: string) => path.split("/").filter((part) => part !== "" && part !== ".");

export class Disk {
  readonly root = newDirectory(0o755, 0n);
  readonly mounts = new DiskMounts(this.root);

  /** Free bytes for the disk's own files. Set this to make the disk full. */
  get freeBytes(): number {
    return this.mounts.top.room.freeBytes;
  }

  set freeBytes(bytes: number) {
    this.mounts.top.room.freeBytes = bytes;
  }

  /** Follows links, except one at the end of the path, as the kernel does. */
  find(path: string): DiskEntry | undefined {
    return this.locate(path)?.entry;
  }

  /** Follows links, including one at the end of the path. */
  directory(path: string): DiskDirectory | undefined {
    const found = this.#walk(path, true)?.entry;
    return found?.kind === "directory" ? found : undefined;
  }

  locate(path: string): Located | undefined {
    return this.#walk(path, false);
  }

  follow(path: string): Located | undefined {
    return this.#walk(path, true);
  }

  #walk(path: string, followsLast: boolean): Located | undefined {
    const top: Located = { entry: this.root, mount: this.mounts.top, path: "/" };
    const left = partsOf(path);
    const way = [top];
    let links = 0;
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      const here = way.at(-1) ?? top;
      if (here.entry.kind !== "directory") return undefined;
      if (part === "..") {
        if (way.length > 1) way.pop();
        continue;
      }
      const entry = here.entry.entries.get(part);
      if (entry === undefined) return undefined;
      if (entry.kind === "link" && (followsLast || left.length > 0)) {
        links += 1;
        if (links > LINKS_MAX) throw new HostFileError("follow", path, "notPermitted", "too many links");
        if (entry.target.startsWith("/")) way.length = 1;
        left.unshift(...partsOf(entry.target));
        continue;
      }
      way.push(this.mounts.over({ entry, mount: here.mount, path: joined(here.path, part) }));
    }
    return way.at(-1);
  }

  /**
   * Takes up to `bytes` of free space where the path lies and returns how many were available. A negative number
   * returns space.
   */
  take(path: string, bytes: number): number {
    const { room } = (this.locate(path) ?? this.locate(directoryOf(path)))?.mount ?? this.mounts.top;
    const taken = Math.min(bytes, Math.max(0, room.freeBytes));
    room.freeBytes -= taken;
    return taken;
  }

  /** Writes the name, and the names of the directories above it, to disk. */
  syncName(path: string): void {
    for (let here = path; here !== "/"; here = directoryOf(here)) {
      const directory = this.directory(directoryOf(here));
      const entry = directory?.entries.get(nameOf(here));
      if (directory === undefined) continue;
      if (entry === undefined) directory.onDisk.delete(nameOf(here));
      else directory.onDisk.set(nameOf(here), entry);
    }
  }

  /**
   * The machine loses power: nothing stays mounted. Only what is on disk remains, plus the unsynced changes that chance
   * keeps.
   */
  loseUnsynced(random: Random): void {
    this.mounts.clear();
    loseNames(this.root, random);
  }
}

function loseNames(directory: DiskDirectory, random: Random): void {
  const names = [...new Set([...directory.entries.keys(), ...directory.onDisk.keys()])].sort();
  for (const name of names) {
    const seen = directory.entries.get(name);
    const kept = directory.onDisk.get(name);
    const left = seen === kept || random.fraction() < 0.5 ? seen : kept;
    if (left === undefined) directory.entries.delete(name);
    else directory.entries.set(name, left);
    if (left?.kind === "directory") loseNames(left, random);
    if (left?.kind === "file") loseBytes(left, random);
  }
  directory.onDisk = new Map(directory.entries);
}

function loseBytes(file: DiskFile, random: Random): void {
  if (file.content !== file.onDisk) file.content = torn(file.onDisk, file.content, random);
  file.onDisk = file.content;
}

function torn(before: Uint8Array, after: Uint8Array, random: Random): Uint8Array {
  const choice = random.fraction();
  if (choice < 0.25) return before;
  if (choice < 0.5) return after;
  let same = 0;
  while (same < before.length && same < after.length && before[same] === after[same]) same += 1;
  const sectors = Math.floor((after.length - same) / SECTOR_BYTES) + 1;
  const firstEnd = Math.ceil((same + 1) / SECTOR_BYTES) * SECTOR_BYTES;
  const end = Math.min(after.length, firstEnd + Math.floor(random.fraction() * sectors) * SECTOR_BYTES);
  if (choice < 0.75) return after.slice(0, end);
  const zeroed = new Uint8Array(after.length);
  zeroed.set(after.subarray(0, end));
  return zeroed;
}

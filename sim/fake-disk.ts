/**
 * A disk with a page cache: what processes see, and what a crash of the machine leaves of it. And what is mounted over it, see
 * `sim/disk-mounts.ts`: every path leads through that.
 *
 * Each folder has its names and each file its bytes twice, as seen and as on disk. A sync makes them equal. A crash picks, by chance, for each
 * name whether its last change was kept, and for each file the old bytes, the new ones, or a part cut or zeroed at a multiple of 512.
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

export interface DiskFolder extends Owned {
  readonly kind: "folder";
  readonly entries: Map<string, DiskEntry>;
  onDisk: Map<string, DiskEntry>;
}

interface DiskLink extends Owned {
  readonly kind: "link";
  readonly target: string;
}

export type DiskEntry = DiskFile | DiskFolder | DiskLink;

/** An entry, and the way it was come by. */
export interface Located {
  readonly entry: DiskEntry;
  readonly mount: DiskMount;
  /** Without links on the way. */
  readonly path: string;
}

const ownedByRoot = (mode: number, modifiedWallNs: bigint): Owned => ({ mode, uid: 0, gid: 0, modifiedWallNs });

export const newFolder = (mode: number, modifiedWallNs: bigint): DiskFolder => ({
  kind: "folder",
  ...ownedByRoot(mode, modifiedWallNs),
  entries: new Map(),
  onDisk: new Map(),
});

/** Nothing of its content is on disk yet. */
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
export const folderOf = (path: string) => path.slice(0, Math.max(1, path.lastIndexOf("/")));
export const joined = (folder: string, name: string) => (folder === "/" ? `/${name}` : `${folder}/${name}`);

const partsOf = (path: string) => path.split("/").filter((part) => part !== "" && part !== ".");

export class Disk {
  readonly root = newFolder(0o755, 0n);
  readonly mounts = new DiskMounts(this.root);

  /** Room left for the bytes of the disk's own files. Set it to make the disk full. */
  get freeBytes(): number {
    return this.mounts.top.room.freeBytes;
  }

  set freeBytes(bytes: number) {
    this.mounts.top.room.freeBytes = bytes;
  }

  /** Through links, but for one at the end of the path, as the kernel does. */
  find(path: string): DiskEntry | undefined {
    return this.locate(path)?.entry;
  }

  /** Through links, at the end too. */
  folder(path: string): DiskFolder | undefined {
    const found = this.#walk(path, true)?.entry;
    return found?.kind === "folder" ? found : undefined;
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
      if (here.entry.kind !== "folder") return undefined;
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

  /** Takes room for up to `bytes` where the path lies, and says for how many there was some. A negative number gives room back. */
  take(path: string, bytes: number): number {
    const { room } = (this.locate(path) ?? this.locate(folderOf(path)))?.mount ?? this.mounts.top;
    const taken = Math.min(bytes, Math.max(0, room.freeBytes));
    room.freeBytes -= taken;
    return taken;
  }

  /** The name and the names of the folders above it are on disk. */
  syncName(path: string): void {
    for (let here = path; here !== "/"; here = folderOf(here)) {
      const folder = this.folder(folderOf(here));
      const entry = folder?.entries.get(nameOf(here));
      if (folder === undefined) continue;
      if (entry === undefined) folder.onDisk.delete(nameOf(here));
      else folder.onDisk.set(nameOf(here), entry);
    }
  }

  /** The machine lost its power: nothing is mounted, only what is on disk stays, and what chance has put there besides. */
  loseUnsynced(random: Random): void {
    this.mounts.clear();
    loseNames(this.root, random);
  }
}

function loseNames(folder: DiskFolder, random: Random): void {
  const names = [...new Set([...folder.entries.keys(), ...folder.onDisk.keys()])].sort();
  for (const name of names) {
    const seen = folder.entries.get(name);
    const kept = folder.onDisk.get(name);
    const left = seen === kept || random.fraction() < 0.5 ? seen : kept;
    if (left === undefined) folder.entries.delete(name);
    else folder.entries.set(name, left);
    if (left?.kind === "folder") loseNames(left, random);
    if (left?.kind === "file") loseBytes(left, random);
  }
  folder.onDisk = new Map(folder.entries);
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

/**
 * A disk with a page cache: what processes see, and what a crash of the machine leaves of it.
 *
 * Each folder has its names and each file its bytes twice, as seen and as on disk. A sync makes them equal. A crash picks, by chance, for each
 * name whether its last change was kept, and for each file the old bytes, the new ones, or a part cut or zeroed at a multiple of 512.
 */
import { HostFileError } from "../src/ports/host-files.ts";
import type { Random } from "../src/ports/random.ts";

const SECTOR_BYTES = 512;
const LINKS_MAX = 40;

export interface DiskFile {
  readonly kind: "file";
  readonly mode: number;
  content: Uint8Array;
  onDisk: Uint8Array;
  modifiedWallNs: bigint;
}

export interface DiskFolder {
  readonly kind: "folder";
  readonly mode: number;
  readonly mount: boolean;
  readonly entries: Map<string, DiskEntry>;
  onDisk: Map<string, DiskEntry>;
  modifiedWallNs: bigint;
}

interface DiskLink {
  readonly kind: "link";
  readonly target: string;
  readonly modifiedWallNs: bigint;
}

export type DiskEntry = DiskFile | DiskFolder | DiskLink;

export const newFolder = (mode: number, modifiedWallNs: bigint, mount = false): DiskFolder => ({
  kind: "folder",
  mode,
  mount,
  entries: new Map(),
  onDisk: new Map(),
  modifiedWallNs,
});

export const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
export const folderOf = (path: string) => path.slice(0, Math.max(1, path.lastIndexOf("/")));

export class Disk {
  readonly root = newFolder(0o755, 0n);
  /** Room left for the bytes of files. Set it to make the disk full. */
  freeBytes = Number.POSITIVE_INFINITY;

  find(path: string): DiskEntry | undefined {
    if (path === "/") return this.root;
    const folder = this.folder(folderOf(path));
    return folder?.entries.get(nameOf(path));
  }

  /** Through links, as the kernel does for all but the end of a path. */
  folder(path: string, linksLeft = LINKS_MAX): DiskFolder | undefined {
    let here: DiskFolder = this.root;
    const parts = path.split("/").filter((part) => part !== "" && part !== ".");
    for (const [index, part] of parts.entries()) {
      const entry = here.entries.get(part);
      if (entry === undefined || entry.kind === "file") return undefined;
      if (entry.kind === "link") {
        if (linksLeft === 0) throw new HostFileError("follow", path, "notPermitted", "too many links");
        const base = `/${parts.slice(0, index).join("/")}`;
        const target = entry.target.startsWith("/") ? entry.target : `${base}/${entry.target}`;
        return this.folder([target, ...parts.slice(index + 1)].join("/"), linksLeft - 1);
      }
      here = entry;
    }
    return here;
  }

  /** Takes room for up to `bytes`, and says for how many there was some. A negative number gives room back. */
  take(bytes: number): number {
    const taken = Math.min(bytes, Math.max(0, this.freeBytes));
    this.freeBytes -= taken;
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

  /** The machine lost its power: only what is on disk stays, and what chance has put there besides. */
  loseUnsynced(random: Random): void {
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

/**
 * How full a volume is. A walk counts blocks of half a kilobyte, as the file system does, and the volume's own folder with the rest; a file with
 * several names counts once, and what is mounted inside is another volume. Files come and go while it walks.
 */
import { lstatSync, opendirSync, type StatsFs, statfsSync, statSync } from "node:fs";
import type { Measured, Taken } from "../../../ports/mounts.ts";
import { errnoOf } from "../../host/errno.ts";

const BLOCK_BYTES = 512;

export function measure(path: string, how: "walk" | "filesystem", tell: (files: number) => void): Measured {
  const taken = how === "walk" ? walk(path, tell) : undefined;
  return { room: roomOf(statfsSync(path)), taken };
}

function roomOf({ blocks, bfree, bavail, files, ffree, ...sizes }: StatsFs): Measured["room"] {
  const unit = sizes.frsize ?? sizes.bsize;
  return {
    capacityBytes: blocks * unit,
    freeBytes: bfree * unit,
    availableBytes: bavail * unit,
    inodes: files,
    inodesFree: ffree,
  };
}

function walk(volume: string, tell: (files: number) => void): Taken {
  const { dev } = statSync(volume);
  const named = new Set<number>();
  let bytes = 0;
  let inodes = 0;
  const left: Buffer[] = [Buffer.from(volume)];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    const found = unlessGone(() => lstatSync(path));
    if (found === undefined || found.dev !== dev) continue;
    if (found.isDirectory()) left.push(...entriesOf(path));
    else if (found.nlink > 1) {
      if (named.has(found.ino)) continue;
      named.add(found.ino);
    }
    bytes += found.blocks * BLOCK_BYTES;
    inodes += 1;
    tell(inodes);
  }
  return { bytes, inodes };
}

const SLASH = Buffer.from("/");

/** Names are bytes, which this encoding keeps. */
function entriesOf(path: Uint8Array): readonly Buffer[] {
  const folder = unlessGone(() => opendirSync(Buffer.from(path), { encoding: "latin1" }));
  if (folder === undefined) return [];
  try {
    const entries: Buffer[] = [];
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      entries.push(Buffer.concat([path, SLASH, Buffer.from(entry.name, "latin1")]));
    }
    return entries;
  } finally {
    folder.closeSync();
  }
}

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

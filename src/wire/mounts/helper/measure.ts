/**
 * Measures how full a volume is. A walk counts blocks of 512 bytes, as the file system does, and includes the volume's
 * own directory. A file with several names counts once, and what is mounted inside belongs to another volume. Files
 * come and go during the walk. It uses descriptors, so users of the volume cannot lead it out.
 */
import { type StatsFs, statfsSync } from "node:fs";
import type { DiskUsage, VolumeUsage } from "../../../ports/mounts.ts";
import { DEPTH_MAX, entriesOf, Place } from "./descriptor.ts";
import { HelperError } from "./helper-error.ts";

const BLOCK_BYTES = 512;

export function measure(path: string, how: "walk" | "filesystem", tell: (files: number) => void): VolumeUsage {
  return { filesystem: filesystemStats(statfsSync(path)), usage: how === "walk" ? diskUsage(path, tell) : undefined };
}

function filesystemStats({ blocks, bfree, bavail, files, ffree, ...sizes }: StatsFs): VolumeUsage["filesystem"] {
  const unit = sizes.frsize ?? sizes.bsize;
  return {
    capacityBytes: blocks * unit,
    freeBytes: bfree * unit,
    availableBytes: bavail * unit,
    inodes: files,
    inodesFree: ffree,
  };
}

function diskUsage(volume: string, tell: (files: number) => void): DiskUsage {
  using root = Place.at(volume);
  const { dev } = root.stat();
  const named = new Set<bigint>();
  let [bytes, inodes] = [0, 0];
  const count = (place: Place, depth: number): void => {
    const found = place.stat();
    if (found.dev !== dev) return;
    if (!found.isDirectory() && found.nlink > 1n) {
      if (named.has(found.ino)) return;
      named.add(found.ino);
    }
    bytes += Number(found.blocks) * BLOCK_BYTES;
    inodes += 1;
    tell(inodes);
    if (!found.isDirectory()) return;
    if (depth === DEPTH_MAX) throw new HelperError("other", "the volume's directories are too deep");
    for (const entry of entriesOf(place)) count(entry, depth + 1);
  };
  count(root, 0);
  return { bytes, inodes };
}

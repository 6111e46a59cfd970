/** The disk usage of files as the file system counts it: blocks of 512 bytes, not the nominal length. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { FileUsage } from "../../../domain/stats/stats-reading.ts";
import { orAbsent } from "./small-files.ts";

const BLOCK_BYTES = 512;

/** The usage of a file, or of the files directly in a directory, without the directory itself. */
export function usageOf(path: string): FileUsage | undefined {
  const found = orAbsent(() => lstatSync(path));
  if (found === undefined) return undefined;
  if (!found.isDirectory()) return { bytes: found.blocks * BLOCK_BYTES, inodes: 1 };
  let bytes = 0;
  let inodes = 0;
  for (const entry of orAbsent(() => readdirSync(path, { withFileTypes: true })) ?? []) {
    if (entry.isDirectory()) continue;
    const file = orAbsent(() => lstatSync(join(path, entry.name)));
    if (file === undefined) continue;
    bytes += file.blocks * BLOCK_BYTES;
    inodes += 1;
  }
  return { bytes, inodes };
}

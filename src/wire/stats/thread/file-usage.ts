/** How much disk files take, as the file system counts it: blocks of half a kilobyte, not the length that is written on them. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { FileUsage } from "../../../domain/stats/figures.ts";
import { orAbsent } from "./small-files.ts";

const BLOCK_BYTES = 512;

/** A file; or of a folder the files directly in it, without the folder. */
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

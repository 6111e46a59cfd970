/**
 * A content-keyed cache under the user's cache directory. An entry is a directory that is either complete or absent: it
 * is built in a temporary directory and renamed into place. A lock serializes processes that want the same entry.
 */
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { withLock } from "./lock.ts";

export const cacheRoot = () => join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "deckhand");

/** Returns the entry's directory. When there is none, first calls `make` on a scratch directory. */
export async function cached(kind: string, key: string, make: (scratch: string) => Promise<void>): Promise<string> {
  const entry = join(cacheRoot(), kind, key);
  if (await exists(entry)) return entry;
  return withLock(`cache ${entry}`, async () => {
    if (await exists(entry)) return entry;
    const scratch = `${entry}.making`;
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true });
    await make(scratch);
    await rename(scratch, entry);
    return entry;
  });
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

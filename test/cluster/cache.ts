/**
 * A content-keyed cache under the home cache directory. An entry is a folder that is either whole or absent: it is made in a
 * temporary folder and renamed into place. Two processes that want the same entry take turns.
 */
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { withLock } from "./lock.ts";

export const cacheRoot = () => join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "deckhand");

/** Answers with the entry's folder, calling `make` on a scratch folder first when there is none. */
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

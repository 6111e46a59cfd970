/**
 * A content-keyed cache under the home cache directory. An entry is a folder that is either whole or absent: it is made in a
 * temporary folder and renamed into place. Two processes that want the same entry take turns.
 */
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

export const cacheRoot = () => join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "deckhand");

/** Answers with the entry's folder, calling `make` on a scratch folder first when there is none. */
export async function cached(kind: string, key: string, make: (scratch: string) => Promise<void>): Promise<string> {
  const entry = join(cacheRoot(), kind, key);
  if (await exists(entry)) return entry;
  await mkdir(join(cacheRoot(), kind), { recursive: true });
  const unlock = await takeLock(`${entry}.lock`);
  try {
    if (await exists(entry)) return entry;
    const scratch = `${entry}.making`;
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true });
    await make(scratch);
    await rename(scratch, entry);
    return entry;
  } finally {
    await unlock();
  }
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** A lock folder that names its holder, so that one left by a killed process is seen and taken over. */
async function takeLock(path: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await mkdir(path);
      await writeFile(join(path, "pid"), String(process.pid));
      return () => rm(path, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const pid = Number(await readFile(join(path, "pid"), "utf8").catch(() => "NaN"));
    const age = await stat(path).then(
      (s) => Date.now() - s.mtimeMs,
      () => 0,
    );
    const holderGone = Number.isNaN(pid) ? age > 5_000 : !(await exists(`/proc/${pid}`));
    if (holderGone) await rm(path, { recursive: true, force: true });
    else await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * Writes that survive a crash of the machine: before a call resolves, the file's content and every directory entry on
 * the way to it are on disk.
 *
 * Synced directories are remembered, so a write into a known directory costs one sync of the file and one of its
 * directory. Every directory starts as not synced, because the previous process may have died between a rename and its
 * sync.
 */
import { constants, type FileHandle, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { KeyedLock } from "../../concurrency/keyed-lock.ts";
import { HostFileError } from "../../ports/host-files.ts";
import { errnoOf } from "./errno.ts";

const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const OVERWRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The name is always the same: the next attempt overwrites what a crash left, so leftovers do not add up. */
export const temporaryBeside = (path: string) => join(dirname(path), `.${basename(path)}.tmp`);

export class DurableWrites {
  /** Syncs that are running or done, by directory; dropped when an entry is created in the directory. */
  readonly #syncs = new Map<string, Promise<void>>();
  /** Files that were truncated and not synced since. */
  readonly #cut = new Set<string>();
  readonly #locks = new KeyedLock<string>();

  /** Reports a new entry in this directory: the next durable write below it syncs the directory again. */
  changed(directory: string): void {
    this.#syncs.delete(directory);
  }

  forgetTree(path: string): void {
    for (const directory of this.#syncs.keys()) {
      if (directory === path || directory.startsWith(`${path}/`)) this.#syncs.delete(directory);
    }
  }

  replace(path: string, content: Uint8Array, mode: number): Promise<void> {
    return this.withKeyLock(path, async () => {
      const temporary = temporaryBeside(path);
      await unlinkIfThere(temporary);
      try {
        await writeNew(temporary, content, mode);
        await rename(temporary, path);
      } catch (error) {
        // Report the first failure; the next attempt removes what cannot be removed now.
        await unlinkIfThere(temporary).catch(() => {});
        throw error;
      }
      this.changed(dirname(path));
      await this.#syncDirectoriesAbove(path);
    });
  }

  appendAt(path: string, offsetBytes: number, content: Uint8Array, sync: "synced" | "unsynced"): Promise<void> {
    return this.withKeyLock(path, async () => {
      await using file = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const { size } = await file.stat();
      if (size < offsetBytes) {
        throw new HostFileError("append to", path, "other", `it has ${size} bytes, not the ${offsetBytes} expected`);
      }
      if (size > offsetBytes) await file.truncate(offsetBytes);
      await writeAll(file, content, offsetBytes);
      if (sync === "unsynced") {
        if (size > offsetBytes) this.#cut.add(path);
        return;
      }
      // fdatasync is not guaranteed to persist a truncation.
      await (size > offsetBytes || this.#cut.has(path) ? file.sync() : file.datasync());
      this.#cut.delete(path);
      await this.#syncDirectoriesAbove(path);
    });
  }

  /** Not durable. It is here because writes to one path run one at a time. */
  overwrite(path: string, content: Uint8Array, mode: number): Promise<void> {
    return this.withKeyLock(path, async () => {
      await using file = await open(path, OVERWRITE, mode);
      if (!(await file.stat()).isFile()) throw new HostFileError("write", path, "other", "it is no regular file");
      await file.chmod(mode); // Regardless of the umask and of the file's previous mode.
      // Truncated after the write, so that a reader never finds the file empty.
      await writeAll(file, content, 0);
      await file.truncate(content.length);
      this.changed(dirname(path));
    });
  }

  /** Runs writes to one path one at a time, in the order of the requests. */
  withKeyLock(path: string, write: () => Promise<void>): Promise<void> {
    return this.#locks.withLock(path, write);
  }

  async #syncDirectoriesAbove(path: string): Promise<void> {
    const direct = dirname(path);
    for (let directory = direct; ; directory = dirname(directory)) {
      try {
        await this.#syncOnce(directory);
      } catch (error) {
        // A higher directory that we may not even open is not one that we created.
        if (directory !== direct && errnoOf(error) === "EACCES") return;
        throw error;
      }
      if (directory === dirname(directory)) return;
    }
  }

  #syncOnce(directory: string): Promise<void> {
    const known = this.#syncs.get(directory);
    if (known !== undefined) return known;
    const sync = syncDirectory(directory);
    this.#syncs.set(directory, sync);
    sync.catch(() => {
      if (this.#syncs.get(directory) === sync) this.#syncs.delete(directory);
    });
    return sync;
  }
}

async function writeNew(path: string, content: Uint8Array, mode: number): Promise<void> {
  await using file = await open(path, CREATE_NEW, mode);
  await file.chmod(mode); // Regardless of the umask.
  await writeAll(file, content, 0);
  await file.sync();
}

export async function writeAll(file: FileHandle, content: Uint8Array, offsetBytes: number): Promise<void> {
  for (let done = 0; done < content.length; ) {
    const { bytesWritten } = await file.write(content, done, content.length - done, offsetBytes + done);
    done += bytesWritten;
  }
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await directory.sync();
}

export async function unlinkIfThere(path: string | Buffer): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

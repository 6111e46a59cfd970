/**
 * Writes that a crash of the machine does not take back: the file's content and every name on the way to it are on disk before a call
 * resolves.
 *
 * Folders are remembered once they were synced, so that a write into a settled place costs one sync of the file and one of its folder. A
 * folder starts as not synced, because the process before us may have died between a rename and its sync.
 */
import { constants, type FileHandle, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { KeyedTurns } from "../../concurrency/keyed-turns.ts";
import { HostFileError } from "../../ports/host-files.ts";
import { errnoOf } from "./errno.ts";

const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const OVERWRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The same name each time: what a crash left is overwritten by the next try instead of adding up. */
export const temporaryBeside = (path: string) => join(dirname(path), `.${basename(path)}.tmp`);

export class DurableWrites {
  /** By folder, for as long as nothing was made in it since it began. */
  readonly #syncs = new Map<string, Promise<void>>();
  /** Files that were cut and not synced since. */
  readonly #cut = new Set<string>();
  readonly #turns = new KeyedTurns<string>();

  /** An entry of this folder was made: the next durable write below it syncs it again. */
  changed(folder: string): void {
    this.#syncs.delete(folder);
  }

  forgetTree(path: string): void {
    for (const folder of this.#syncs.keys()) {
      if (folder === path || folder.startsWith(`${path}/`)) this.#syncs.delete(folder);
    }
  }

  replace(path: string, content: Uint8Array, mode: number): Promise<void> {
    return this.inTurn(path, async () => {
      const temporary = temporaryBeside(path);
      await unlinkIfThere(temporary);
      try {
        await writeNew(temporary, content, mode);
        await rename(temporary, path);
      } catch (error) {
        // The first failure is the one to tell; what cannot be removed now is removed by the next try.
        await unlinkIfThere(temporary).catch(() => {});
        throw error;
      }
      this.changed(dirname(path));
      await this.#syncFoldersAbove(path);
    });
  }

  appendAt(path: string, offsetBytes: number, content: Uint8Array, sync: "synced" | "unsynced"): Promise<void> {
    return this.inTurn(path, async () => {
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
      // A cut is not among the changes that fdatasync is sure to keep.
      await (size > offsetBytes || this.#cut.has(path) ? file.sync() : file.datasync());
      this.#cut.delete(path);
      await this.#syncFoldersAbove(path);
    });
  }

  /** Not durable; here because writes to one path go in turn. */
  overwrite(path: string, content: Uint8Array, mode: number): Promise<void> {
    return this.inTurn(path, async () => {
      await using file = await open(path, OVERWRITE, mode);
      if (!(await file.stat()).isFile()) throw new HostFileError("write", path, "other", "it is no regular file");
      await file.chmod(mode); // The umask does not count, nor what the mode was.
      // Cut after the writing: a reader never finds it empty.
      await writeAll(file, content, 0);
      await file.truncate(content.length);
      this.changed(dirname(path));
    });
  }

  /** One write to a path at a time, in the order in which they were requested. */
  inTurn(path: string, write: () => Promise<void>): Promise<void> {
    return this.#turns.take(path, write);
  }

  async #syncFoldersAbove(path: string): Promise<void> {
    const direct = dirname(path);
    for (let folder = direct; ; folder = dirname(folder)) {
      try {
        await this.#syncOnce(folder);
      } catch (error) {
        // A folder higher up that we may not even open is none that we made.
        if (folder !== direct && errnoOf(error) === "EACCES") return;
        throw error;
      }
      if (folder === dirname(folder)) return;
    }
  }

  #syncOnce(folder: string): Promise<void> {
    const known = this.#syncs.get(folder);
    if (known !== undefined) return known;
    const sync = syncFolder(folder);
    this.#syncs.set(folder, sync);
    sync.catch(() => {
      if (this.#syncs.get(folder) === sync) this.#syncs.delete(folder);
    });
    return sync;
  }
}

async function writeNew(path: string, content: Uint8Array, mode: number): Promise<void> {
  await using file = await open(path, CREATE_NEW, mode);
  await file.chmod(mode); // The umask does not count.
  await writeAll(file, content, 0);
  await file.sync();
}

export async function writeAll(file: FileHandle, content: Uint8Array, offsetBytes: number): Promise<void> {
  for (let done = 0; done < content.length; ) {
    const { bytesWritten } = await file.write(content, done, content.length - done, offsetBytes + done);
    done += bytesWritten;
  }
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await folder.sync();
}

export async function unlinkIfThere(path: string | Buffer): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

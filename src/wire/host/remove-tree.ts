/**
 * Removes a directory and everything below it without ever leaving it: no symbolic link is followed and no mount is
 * entered, whatever a container does to the tree meanwhile. Node has no openat, so each directory is held open and its
 * entries are addressed through /proc/self/fd. Names are bytes, because a container may choose names that are not valid
 * text. A directory is read while it is emptied, so a million files take no more memory than a hundred.
 */
import { constants, type FileHandle, lstat, open, opendir, readFile, realpath, rename, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { singleFlight } from "../../concurrency/single-flight.ts";
import { unlinkIfThere } from "./durable-writes.ts";
import { errnoOf } from "./errno.ts";

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * A level takes two descriptors. A deeper directory is first moved to the top, so that no tree exhausts the
 * descriptors.
 */
const DEPTH_MAX = 32;
/** The number of files of a directory that are removed at once. */
const TOGETHER = 64;
/** A directory is read again until it is empty, because something may still be writing to it. */
const PASSES_MAX = 1000;

/** Something is mounted in the tree. Nothing was removed, unless the mount was made during the removal. */
export class MountPointInTree extends Error {
  override readonly name = "MountPointInTree";
  constructor(path: string) {
    super(`${path} is a mount point`);
  }
}

/** `onRemoved` receives the number of files and directories removed so far. */
export async function removeTree(path: string, onRemoved: (files: number) => void = () => {}): Promise<void> {
  const above = await unlessGone(() => realpath(dirname(path)));
  if (above === undefined) return;
  const real = join(above, basename(path));
  // Check the mount table before accessing the path: a mount there may never answer.
  await refuseMountsWithin(real);
  const top = await unlessGone(() => lstat(real));
  if (top === undefined) return;
  if (!top.isDirectory()) return unlinkIfThere(real);
  await using parent = await open(above, DIRECTORY);
  await new Removal(await mountIdOf(parent), onRemoved).directory(parent, Buffer.from(basename(real)), 0);
}

class Removal {
  readonly #mountId: string;
  readonly #onRemoved: (files: number) => void;
  #top: FileHandle | undefined;
  #moved = 0;
  #removed = 0;

  constructor(mountId: string, onRemoved: (files: number) => void) {
    this.#mountId = mountId;
    this.#onRemoved = onRemoved;
  }

  async directory(parent: FileHandle, name: Buffer, depth: number): Promise<void> {
    const entry = at(parent, name);
    {
      await using directory = await unlessGone(() => open(entry, DIRECTORY));
      if (directory === undefined) return;
      // It was mounted after the mount table was read.
      if ((await mountIdOf(directory)) !== this.#mountId) throw new MountPointInTree(name.toString());
      this.#top ??= directory;
      for (let pass = 0; pass < PASSES_MAX && (await this.#empty(directory, depth)) > 0; ) pass += 1;
    }
    await unlessGone(() => rmdir(entry));
    this.#count(1);
  }

  /** Returns the number of entries found. */
  async #empty(directory: FileHandle, depth: number): Promise<number> {
    let found = 0;
    let files: Buffer[] = [];
    for await (const entry of await opendir(at(directory).toString(), { encoding: "latin1" })) {
      found += 1;
      const name = Buffer.from(entry.name, "latin1");
      if (entry.isDirectory()) await this.#below(directory, name, depth + 1);
      else files.push(name);
      if (files.length < TOGETHER) continue;
      await this.#unlink(directory, files, depth);
      files = [];
    }
    await this.#unlink(directory, files, depth);
    return found;
  }

  async #unlink(directory: FileHandle, names: readonly Buffer[], depth: number): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        try {
          await unlinkIfThere(at(directory, name));
        } catch (error) {
          // The file system does not report entry types, or the entry has become a directory.
          if (errnoOf(error) !== "EISDIR" && errnoOf(error) !== "EPERM") throw error;
          if (!(await lstat(at(directory, name))).isDirectory()) throw error;
          await this.#below(directory, name, depth + 1);
        }
      }),
    );
    this.#count(names.length);
  }

  async #below(directory: FileHandle, name: Buffer, depth: number): Promise<void> {
    if (depth < DEPTH_MAX || this.#top === undefined) return this.directory(directory, name, depth);
    await this.#moveToTop(at(directory, name), this.#top);
  }

  async #moveToTop(entry: Buffer, top: FileHandle): Promise<void> {
    for (;;) {
      this.#moved += 1;
      const place = at(top, Buffer.from(`.deckhand-removing-${this.#moved}`));
      try {
        await unlessGone(() => rename(entry, place));
        return;
      } catch (error) {
        // A leftover of an interrupted removal; it is removed with the rest.
        if (errnoOf(error) !== "ENOTEMPTY" && errnoOf(error) !== "EEXIST" && errnoOf(error) !== "ENOTDIR") throw error;
      }
    }
  }

  #count(removed: number): void {
    this.#removed += removed;
    this.#onRemoved(this.#removed);
  }
}

const at = (directory: FileHandle, name: Buffer = Buffer.from(".")) =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${directory.fd}/`), name]);

/** A bind mount of the same file system has the same device number, but another mount ID. */
async function mountIdOf(directory: FileHandle): Promise<string> {
  const facts = await readFile(`/proc/self/fdinfo/${directory.fd}`, "latin1");
  return /^mnt_id:\s*(\d+)/m.exec(facts)?.[1] ?? "";
}

/** Includes a mount at the path itself. */
async function refuseMountsWithin(path: string): Promise<void> {
  const below = `${path}/`;
  const mount = (await mountPoints()).find((each) => each === path || each.startsWith(below));
  if (mount !== undefined) throw new MountPointInTree(mount);
}

/**
 * The table has hundreds of lines on a full node. Concurrent removals share one read, as after a change to many pods.
 */
const mountPoints = singleFlight(async (): Promise<readonly string[]> => {
  const lines = (await readFile("/proc/self/mountinfo", "latin1")).split("\n");
  return lines.map((line) => unescaped(line.split(" ", 5)[4] ?? ""));
});

function unescaped(path: string): string {
  const bytes = path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Buffer.from(bytes, "latin1").toString();
}

async function unlessGone<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/**
 * Removes a folder and all below it without ever leaving it: no link is followed, no mount is entered, whatever a container does to the tree
 * meanwhile. Node has no openat, so each folder is held open and its entries are named through /proc/self/fd. Names are bytes: a container
 * may have chosen some that are no text. A folder is read as it is emptied, so a million files take no more memory than a hundred.
 */
import { constants, type FileHandle, lstat, open, opendir, readFile, realpath, rename, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { sharedRun } from "../../concurrency/shared-run.ts";
import { unlinkIfThere } from "./durable-writes.ts";
import { errnoOf } from "./errno.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Two descriptors per level: a deeper one is moved up to the top first, so that no tree runs us out of descriptors. */
const DEPTH_MAX = 32;
/** How many files of a folder go at once. */
const TOGETHER = 64;
/** A folder is read again until nothing is found in it; somebody may still be writing. */
const PASSES_MAX = 1000;

/** Something is mounted in the tree. Nothing was removed, unless it was mounted meanwhile. */
export class MountPointInTree extends Error {
  override readonly name = "MountPointInTree";
  constructor(path: string) {
    super(`${path} is a mount point`);
  }
}

/** `onRemoved` is told how many files and folders are gone so far. */
export async function removeTree(path: string, onRemoved: (files: number) => void = () => {}): Promise<void> {
  const above = await unlessGone(() => realpath(dirname(path)));
  if (above === undefined) return;
  const real = join(above, basename(path));
  // Before anything at the path is asked for: what is mounted there may never answer.
  await refuseMountsWithin(real);
  const top = await unlessGone(() => lstat(real));
  if (top === undefined) return;
  if (!top.isDirectory()) return unlinkIfThere(real);
  await using parent = await open(above, FOLDER);
  await new Removal(await mountIdOf(parent), onRemoved).folder(parent, Buffer.from(basename(real)), 0);
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

  async folder(parent: FileHandle, name: Buffer, depth: number): Promise<void> {
    const entry = at(parent, name);
    {
      await using folder = await unlessGone(() => open(entry, FOLDER));
      if (folder === undefined) return;
      // It was mounted after the look into the table.
      if ((await mountIdOf(folder)) !== this.#mountId) throw new MountPointInTree(name.toString());
      this.#top ??= folder;
      for (let pass = 0; pass < PASSES_MAX && (await this.#empty(folder, depth)) > 0; ) pass += 1;
    }
    await unlessGone(() => rmdir(entry));
    this.#count(1);
  }

  /** How many entries it found. */
  async #empty(folder: FileHandle, depth: number): Promise<number> {
    let found = 0;
    let files: Buffer[] = [];
    for await (const entry of await opendir(at(folder).toString(), { encoding: "latin1" })) {
      found += 1;
      const name = Buffer.from(entry.name, "latin1");
      if (entry.isDirectory()) await this.#below(folder, name, depth + 1);
      else files.push(name);
      if (files.length < TOGETHER) continue;
      await this.#unlink(folder, files, depth);
      files = [];
    }
    await this.#unlink(folder, files, depth);
    return found;
  }

  async #unlink(folder: FileHandle, names: readonly Buffer[], depth: number): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        try {
          await unlinkIfThere(at(folder, name));
        } catch (error) {
          // A file system that does not say what an entry is, or an entry that has become a folder.
          if (errnoOf(error) !== "EISDIR" && errnoOf(error) !== "EPERM") throw error;
          if (!(await lstat(at(folder, name))).isDirectory()) throw error;
          await this.#below(folder, name, depth + 1);
        }
      }),
    );
    this.#count(names.length);
  }

  async #below(folder: FileHandle, name: Buffer, depth: number): Promise<void> {
    if (depth < DEPTH_MAX || this.#top === undefined) return this.folder(folder, name, depth);
    await this.#moveToTop(at(folder, name), this.#top);
  }

  async #moveToTop(entry: Buffer, top: FileHandle): Promise<void> {
    for (;;) {
      this.#moved += 1;
      const place = at(top, Buffer.from(`.deckhand-removing-${this.#moved}`));
      try {
        await unlessGone(() => rename(entry, place));
        return;
      } catch (error) {
        // Left by a removal that was cut short: it goes with the rest.
        if (errnoOf(error) !== "ENOTEMPTY" && errnoOf(error) !== "EEXIST" && errnoOf(error) !== "ENOTDIR") throw error;
      }
    }
  }

  #count(removed: number): void {
    this.#removed += removed;
    this.#onRemoved(this.#removed);
  }
}

const at = (folder: FileHandle, name: Buffer = Buffer.from(".")) =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);

/** A bind mount of the same file system has the same device number, but not the same id. */
async function mountIdOf(folder: FileHandle): Promise<string> {
  const facts = await readFile(`/proc/self/fdinfo/${folder.fd}`, "latin1");
  return /^mnt_id:\s*(\d+)/m.exec(facts)?.[1] ?? "";
}

/** At the path too. */
async function refuseMountsWithin(path: string): Promise<void> {
  const below = `${path}/`;
  const mount = (await mountPoints()).find((each) => each === path || each.startsWith(below));
  if (mount !== undefined) throw new MountPointInTree(mount);
}

/** Hundreds of lines on a full node: many removals at once, as after an edit that many pods see, share a reading. */
const mountPoints = sharedRun(async (): Promise<readonly string[]> => {
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

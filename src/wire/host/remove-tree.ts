/**
 * Removes a folder and all below it without ever leaving it: no link is followed, no mount is entered, whatever a container does to the tree
 * meanwhile. Node has no openat, so each folder is held open and its entries are named through /proc/self/fd. Names are bytes: a container
 * may have chosen some that are no text.
 */
import type { Stats } from "node:fs";
import { constants, type FileHandle, lstat, open, readdir, readFile, realpath, rename, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HostFileError } from "../../ports/host-files.ts";
import { unlinkIfThere } from "./durable-writes.ts";
import { errnoOf } from "./errno.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** One open folder per level: a deeper one is moved up to the top first, so that no tree runs us out of descriptors. */
const DEPTH_MAX = 64;

const refuse = (path: string, detail: string) => new HostFileError("remove", path, "notPermitted", detail);

export async function removeTree(path: string): Promise<void> {
  const top = await unlessGone(() => lstat(path));
  if (top === undefined) return;
  if (!top.isDirectory()) return unlinkIfThere(path);
  const real = join(await realpath(dirname(path)), basename(path));
  await refuseMountsBelow(real);
  await using parent = await open(dirname(real), FOLDER);
  const { dev } = await parent.stat();
  await new Removal(path, dev).folder(parent, Buffer.from(basename(real)), 0);
}

class Removal {
  readonly #path: string;
  readonly #device: number;
  #top: FileHandle | undefined;
  #moved = 0;

  constructor(path: string, device: number) {
    this.#path = path;
    this.#device = device;
  }

  async folder(parent: FileHandle, name: Buffer, depth: number): Promise<void> {
    const entry = at(parent, name);
    {
      await using folder = await unlessGone(() => open(entry, FOLDER));
      if (folder === undefined) return;
      // A bind mount of the same file system escapes this; the look into the mount table found those.
      if ((await folder.stat()).dev !== this.#device) throw refuse(this.#path, `${name.toString()} is a mount point`);
      this.#top ??= folder;
      for (let movedBefore = -1; movedBefore !== this.#moved; ) {
        movedBefore = this.#moved;
        for (const each of await readdir(at(folder), { encoding: "buffer" }))
          await this.#entry(folder, each, depth + 1);
        if (depth > 0) break; // What was moved is at the top, which is read again.
      }
    }
    await unlessGone(() => rmdir(entry));
  }

  async #entry(folder: FileHandle, name: Buffer, depth: number): Promise<void> {
    const entry = at(folder, name);
    const facts: Stats | undefined = await unlessGone(() => lstat(entry));
    if (facts === undefined) return;
    if (!facts.isDirectory()) return unlinkIfThere(entry);
    if (depth < DEPTH_MAX || this.#top === undefined) return this.folder(folder, name, depth);
    await this.#moveToTop(entry, this.#top);
  }

  async #moveToTop(entry: Buffer, top: FileHandle): Promise<void> {
    for (;;) {
      this.#moved += 1;
      try {
        return await rename(entry, at(top, Buffer.from(`.deckhand-removing-${this.#moved}`)));
      } catch (error) {
        // Left by a removal that was cut short: it goes with the rest.
        if (errnoOf(error) !== "ENOTEMPTY" && errnoOf(error) !== "EEXIST") throw error;
      }
    }
  }
}

const at = (folder: FileHandle, name: Buffer = Buffer.from(".")) =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);

/** The table of mounts also shows a bind mount of the same file system, which has the same device number. */
async function refuseMountsBelow(path: string): Promise<void> {
  for (const line of (await readFile("/proc/self/mountinfo", "latin1")).split("\n")) {
    const escaped = line.split(" ")[4];
    if (escaped === undefined) continue;
    const bytes = escaped.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const mount = Buffer.from(bytes, "latin1").toString();
    if (mount === path || mount.startsWith(`${path}/`)) throw refuse(path, `${mount} is a mount point`);
  }
}

async function unlessGone<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

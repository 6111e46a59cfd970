/**
 * The HostFiles port on node:fs. Nothing is read or replaced through a symbolic link at the end of a path, and every
 * error number becomes one of the port's codes. The difficult parts are `DurableWrites`, `removeTree` and
 * `watchDirectory`, each in its own module.
 */
import type { BigIntStats } from "node:fs";
import {
  chmod,
  constants,
  type FileHandle,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rmdir,
  symlink,
} from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import { assert } from "../../base/assert.ts";
import type { Clock } from "../../ports/clock.ts";
import { type FileFacts, HostFileError, type HostFiles, type NewFileFacts } from "../../ports/host-files.ts";
import { DurableWrites, temporaryBeside, unlinkIfThere, writeAll } from "./durable-writes.ts";
import { asHostFileErrors, errnoOf } from "./errno.ts";
import { MountPointInTree, removeTree } from "./remove-tree.ts";
import { type WatchPauses, watchDirectory } from "./watch-directory.ts";

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Node has no constant for it: a handle on a path that does not open the file. */
const O_PATH = 0o10000000;
const CHUNK_BYTES_MIN = 4096;

export interface HostFilesOptions {
  readonly clock: Clock;
  readonly watchPauses?: WatchPauses;
}

export function createHostFiles({
  clock,
  watchPauses = { watchedMs: 10_000, unwatchedMs: 1000 },
}: HostFilesOptions): HostFiles {
  const writes = new DurableWrites();
  return {
    facts: (path) => call("look at", path, () => facts(path)),
    list: (path) => call("list", path, async () => (await readdir(path)).sort()),
    read: (path, bytesMax) =>
      call("read", path, () => reading(path, (file, size) => readWhole(file, { path, size, bytesMax }))),
    readHead: (path, bytesMax) => call("read", path, () => reading(path, (file) => readFrom(file, 0, bytesMax))),
    readTail: (path, bytesMax) =>
      call("read", path, () => reading(path, (file, size) => readFrom(file, Math.max(0, size - bytesMax), bytesMax))),
    writeAtomically: (path, content, mode) => call("write", path, () => writes.replace(path, content, mode)),
    appendAt: (path, offsetBytes, content, sync = "synced") =>
      call("append to", path, () => writes.appendAt(path, offsetBytes, content, sync)),
    overwrite: (path, content, mode) => call("write", path, () => writes.overwrite(path, content, mode)),
    makeDirectory: (path, mode) => call("make directory", path, () => makeDirectory(path, mode, writes)),
    makeFile: (path, mode) =>
      call("make file", path, async () => {
        await makeFile(path, mode);
        writes.changed(dirname(path));
      }),
    writeNew: (path, content, facts) =>
      call("write", path, async () => {
        await writeNew(path, content, facts);
        writes.changed(dirname(path));
      }),
    setOwner: (path, uid, gid) => call("set the owner of", path, () => lchown(path, uid, gid)),
    setMode: (path, mode) => call("set the mode of", path, () => setMode(path, mode)),
    rename: (from, to) => call("rename", from, () => renameTo(from, to, writes)),
    link: (target, path) => call("link", path, () => writes.withKeyLock(path, () => link(target, path))),
    readLink: (path) => call("read link", path, () => readlink(path)),
    removeFile: (path) => call("remove", path, () => unlinkIfThere(path)),
    removeDirectory: (path) => call("remove directory", path, () => removeDirectory(path)),
    removeTree: (path) =>
      call("remove", path, async () => {
        writes.forgetTree(path);
        await removeTree(path).catch((error: unknown) => {
          if (!(error instanceof MountPointInTree)) throw error;
          throw new HostFileError("remove", path, "notPermitted", error.message, { cause: error });
        });
      }),
    watch: (path, signal) => watchDirectory(path, { clock, pauses: watchPauses, signal }),
  };
}

async function call<T>(operation: string, path: string, run: () => Promise<T>): Promise<T> {
  assert(isAbsolute(path), `"${path}" is no absolute path`);
  return asHostFileErrors(operation, path, run);
}

async function facts(path: string): Promise<FileFacts | undefined> {
  try {
    const found = await lstat(path, { bigint: true });
    return {
      kind: kindOf(found),
      sizeBytes: Number(found.size),
      mode: Number(found.mode) & 0o7777,
      uid: Number(found.uid),
      gid: Number(found.gid),
      modifiedWallNs: found.mtimeNs,
    };
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

function kindOf(found: BigIntStats): FileFacts["kind"] {
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "directory";
  return found.isSymbolicLink() ? "link" : "other";
}

async function reading<T>(path: string, read: (file: FileHandle, size: number) => Promise<T>): Promise<T> {
  await using file = await open(path, READ);
  const found = await file.stat();
  if (!found.isFile()) throw new HostFileError("read", path, "other", "it is no regular file");
  return await read(file, found.size);
}

/** Reads until the file ends, whatever its size says: a file in /proc has size 0, and a log grows. */
async function readWhole(
  file: FileHandle,
  { path, size, bytesMax }: { readonly path: string; readonly size: number; readonly bytesMax: number },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for (let total = 0; ; ) {
    const chunk = new Uint8Array(Math.min(Math.max(size - total, CHUNK_BYTES_MIN), bytesMax - total) + 1);
    const { bytesRead } = await file.read(chunk, 0, chunk.length, total);
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > bytesMax) throw new HostFileError("read", path, "tooLarge", `it has more than ${bytesMax} bytes`);
    chunks.push(chunk.subarray(0, bytesRead));
  }
}

/** Returns less if the file ends earlier. */
async function readFrom(file: FileHandle, start: number, bytesMax: number): Promise<Uint8Array> {
  const content = new Uint8Array(bytesMax);
  let done = 0;
  while (done < content.length) {
    const { bytesRead } = await file.read(content, done, content.length - done, start + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return content.subarray(0, done);
}

async function makeDirectory(path: string, mode: number, writes: DurableWrites): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode });
  if (first === undefined) return;
  await chmod(path, mode); // Regardless of the umask.
  for (let made = path; made.length >= first.length; made = dirname(made)) writes.changed(dirname(made));
}

async function makeFile(path: string, mode: number): Promise<void> {
  await using file = await open(path, CREATE_NEW, mode);
  await file.chmod(mode);
}

async function writeNew(path: string, content: Uint8Array, { mode, uid = -1, gid = -1 }: NewFileFacts): Promise<void> {
  await using file = await open(path, CREATE_NEW, mode);
  try {
    await writeAll(file, content, 0);
    if (uid !== -1 || gid !== -1) await file.chown(uid, gid);
    await file.chmod(mode); // Regardless of the umask. A change of owner clears mode bits.
  } catch (error) {
    // Report the first failure.
    await unlinkIfThere(path).catch(() => {});
    throw error;
  }
}

/** chmod follows symbolic links, and one may appear at any moment: so open the path first, and change what is open. */
async function setMode(path: string, mode: number): Promise<void> {
  await using place = await open(path, O_PATH | constants.O_NOFOLLOW);
  if ((await place.stat()).isSymbolicLink()) {
    throw new HostFileError("set the mode of", path, "notPermitted", "it is a link");
  }
  await chmod(`/proc/self/fd/${place.fd}`, mode);
}

async function renameTo(from: string, to: string, writes: DurableWrites): Promise<void> {
  await rename(from, to);
  for (const path of [from, to]) {
    writes.forgetTree(path);
    writes.changed(dirname(path));
  }
}

async function link(target: string, path: string): Promise<void> {
  try {
    await symlink(target, path);
    return;
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  const found = await lstat(path);
  if (!found.isSymbolicLink()) throw new HostFileError("link", path, "exists", "it is there and no link");
  if ((await readlink(path)) === target) return;
  const temporary = temporaryBeside(path);
  await unlinkIfThere(temporary);
  await symlink(target, temporary);
  await rename(temporary, path);
}

async function removeDirectory(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

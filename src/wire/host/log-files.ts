/** The LogFiles port on node:fs and node:zlib. Compression runs in libuv's threads, one piece at a time. */
import type { BigIntStats } from "node:fs";
import { constants, type FileHandle, lstat, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { HostFileError } from "../../ports/host-files.ts";
import type { CompressedLog, LogFile, LogFiles } from "../../ports/log-files.ts";
import { unlinkIfThere, writeAll } from "./durable-writes.ts";
import { asHostFileErrors, errnoOf } from "./errno.ts";

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const REPLACE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
const PIECE_BYTES = 64 * 1024;

export const hostLogFiles: LogFiles = {
  open: (path) =>
    asHostFileErrors("open", path, () =>
      opened(path, (file, { dev, ino }) => openLog(path, file, identityOf({ dev, ino }))),
    ),
  openCompressed: (path) => asHostFileErrors("open", path, () => opened(path, (file) => openGzip(path, file))),
  identityAt: (path) =>
    asHostFileErrors("look at", path, async () => {
      const found = await ifThere(() => lstat(path, { bigint: true }));
      return found === undefined ? undefined : identityOf(found);
    }),
  compress: (from, to, signal) => compress(from, to, signal),
};

const identityOf = ({ dev, ino }: Pick<BigIntStats, "dev" | "ino">) => `${dev}:${ino}`;

async function ifThere<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Passes the open file to `use`, which then owns the handle. Closes the handle if that fails. */
async function opened<T>(path: string, use: (file: FileHandle, found: BigIntStats) => T): Promise<T | undefined> {
  const file = await ifThere(() => open(path, READ));
  if (file === undefined) return undefined;
  try {
    const found = await file.stat({ bigint: true });
    if (!found.isFile()) throw new HostFileError("open", path, "other", "it is no regular file");
    return use(file, found);
  } catch (error) {
    await file.close();
    throw error;
  }
}

const openLog = (path: string, file: FileHandle, identity: string): LogFile => ({
  identity,
  sizeBytes: () => asHostFileErrors("look at", path, async () => (await file.stat()).size),
  read: (into, offsetBytes) =>
    asHostFileErrors("read", path, async () => {
      let done = 0;
      while (done < into.length) {
        const { bytesRead } = await file.read(into, done, into.length - done, offsetBytes + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return done;
    }),
  [Symbol.asyncDispose]: () => file.close(),
});

function openGzip(path: string, file: FileHandle): CompressedLog {
  const plain = createGunzip({ chunkSize: PIECE_BYTES });
  // Errors reach whoever reads the stream.
  const fed = pipeline(piecesOf(file), plain).catch(() => {});
  const pieces: AsyncIterator<Buffer> = plain[Symbol.asyncIterator]();
  let left: Buffer = Buffer.alloc(0);
  return {
    read: (into) =>
      asHostFileErrors("read", path, async () => {
        let done = 0;
        while (done < into.length) {
          if (left.length === 0) {
            const next = await pieces.next();
            if (next.done === true) break;
            left = next.value;
          }
          const copied = left.copy(into, done);
          left = left.subarray(copied);
          done += copied;
        }
        return done;
      }),
    [Symbol.asyncDispose]: async () => {
      plain.destroy();
      await fed; // The file must not be closed during a read.
      await file.close();
    },
  };
}

async function* piecesOf(file: FileHandle): AsyncGenerator<Buffer, void, void> {
  for (let at = 0; ; ) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

async function compress(from: string, to: string, signal: AbortSignal): Promise<void> {
  try {
    await asHostFileErrors("compress", from, () => gzip(from, to, signal));
  } catch (error) {
    // Report the first failure.
    await unlinkIfThere(to).catch(() => {});
    throw signal.aborted ? signal.reason : error;
  }
}

async function gzip(from: string, to: string, signal: AbortSignal): Promise<void> {
  await using source = await open(from, READ);
  const { mode } = await source.stat();
  await using target = await open(to, REPLACE, mode);
  await target.chmod(mode & 0o7777); // Regardless of the umask.
  const written = async (pieces: AsyncIterable<Buffer>) => {
    let at = 0;
    for await (const piece of pieces) {
      await writeAll(target, piece, at);
      at += piece.length;
    }
  };
  await pipeline(piecesOf(source), createGzip({ chunkSize: PIECE_BYTES }), written, { signal });
  await target.datasync();
}

/** Compresses a container's rotated logs except the newest one. A failure leaves the rotated log as it was. */
import type { Semaphore } from "../../concurrency/semaphore.ts";
import { partsToCompress } from "../../domain/housekeeping/log-rotation.ts";
import { compressedName, temporaryName } from "../../domain/logs/rotated-logs.ts";
import { type HostFiles, listIfThere } from "../../ports/host-files.ts";
import type { LogFiles } from "../../ports/log-files.ts";

export interface CompressOptions {
  readonly files: HostFiles;
  readonly logFiles: Pick<LogFiles, "compress">;
  readonly workers: Semaphore;
}

/** Returns the first error, if any. `beingWritten` contains the path of the temporary file while it is written. */
export async function compressParts(
  logPath: string,
  beingWritten: Set<string>,
  options: CompressOptions,
  signal: AbortSignal,
): Promise<Error | undefined> {
  const { files, workers } = options;
  const directory = logPath.slice(0, logPath.lastIndexOf("/"));
  try {
    const parts = partsToCompress(logPath.slice(directory.length + 1), await listIfThere(files, directory));
    for (const part of parts) {
      using permit = workers.permit();
      await permit.acquire(signal);
      await compressPart(`${directory}/${part}`, beingWritten, options, signal);
    }
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function compressPart(
  path: string,
  beingWritten: Set<string>,
  { files, logFiles }: CompressOptions,
  signal: AbortSignal,
): Promise<void> {
  const temporary = temporaryName(path);
  beingWritten.add(temporary);
  try {
    await logFiles.compress(path, temporary, signal);
    // Rotation may have deleted this log meanwhile.
    if ((await files.facts(path)) === undefined) await files.removeFile(temporary);
    else await files.rename(temporary, compressedName(path));
    await files.removeFile(path);
  } finally {
    beingWritten.delete(temporary);
  }
}

/** Compresses the parts of a log that were rotated before the last. What fails leaves the part as it was. */
import type { Turnstile } from "../../concurrency/turnstile.ts";
import { partsToCompress } from "../../domain/housekeeping/log-rotation.ts";
import { compressedName, temporaryName } from "../../domain/logs/rotated-logs.ts";
import { type HostFiles, listIfThere } from "../../ports/host-files.ts";
import type { LogFiles } from "../../ports/log-files.ts";

export interface CompressOptions {
  readonly files: HostFiles;
  readonly logFiles: Pick<LogFiles, "compress">;
  readonly workers: Turnstile;
}

/** Answers with what went wrong first, if anything did. `beingWritten` has the name that is written to, as long as it is. */
export async function compressParts(
  logPath: string,
  beingWritten: Set<string>,
  options: CompressOptions,
  signal: AbortSignal,
): Promise<Error | undefined> {
  const { files, workers } = options;
  const folder = logPath.slice(0, logPath.lastIndexOf("/"));
  try {
    const parts = partsToCompress(logPath.slice(folder.length + 1), await listIfThere(files, folder));
    for (const part of parts) {
      using pass = workers.pass();
      await pass.enter(signal);
      await compressPart(`${folder}/${part}`, beingWritten, options, signal);
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
    // It may be one too many by now.
    if ((await files.facts(path)) === undefined) await files.removeFile(temporary);
    else await files.rename(temporary, compressedName(path));
    await files.removeFile(path);
  } finally {
    beingWritten.delete(temporary);
  }
}

/**
 * Keeps a cell in sync with files that others write: reads them at startup, on changes in their directories, and every
 * minute. Broken or missing content leaves the cell unchanged and is logged; the same error is logged once.
 */
import { errorText } from "../../base/error-text.ts";
import { linkSignals } from "../../concurrency/abort.ts";
import type { LatestCell } from "../../concurrency/latest-cell.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { Clock } from "../../ports/clock.ts";
import { readLinked } from "../../ports/follow-links.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { CERTIFICATE_FILE_BYTES_MAX } from "../limits.ts";

export interface WatchedFilesParts {
  readonly clock: Clock;
  readonly files: Pick<HostFiles, "facts" | "read" | "readLink" | "watch">;
  readonly log: Log;
}

export interface WatchedFiles<T> {
  /** Name of the content in log lines. */
  readonly what: string;
  readonly paths: readonly string[];
  /** Whether later changes are read, or only the first valid content. */
  readonly reload: boolean;
  readonly parse: (texts: readonly string[]) => T;
  /** Why the content is unusable; undefined if it is valid. */
  readonly fault: (parsed: T) => string | undefined;
  readonly cell: LatestCell<T | undefined>;
}

const LOOK_AGAIN_MS = 60_000;
/** A missing or broken file is most likely still being written. */
const TROUBLED_AGAIN_MS = 5000;

/** Ends when the signal aborts, or after the first valid content if `reload` is false. */
export async function watchFiles<T>(
  wanted: WatchedFiles<T>,
  parts: WatchedFilesParts,
  shutdown: AbortSignal,
): Promise<void> {
  const { clock } = parts;
  const hints = new Notifier();
  using life = linkSignals(shutdown);
  const hearing = [...new Set(wanted.paths.map(directoryOf))].map((directory) =>
    hear(directory, hints, parts, life.signal),
  );
  const look = looker(wanted, parts);
  while (!shutdown.aborted) {
    const seen = hints.version;
    const isGood = await look();
    if (isGood && !wanted.reload) break;
    const waitMs = isGood ? LOOK_AGAIN_MS : TROUBLED_AGAIN_MS;
    await waitForChange(clock, [{ cell: hints, seen }], waitMs, shutdown).catch(() => {}); // Rejects only on shutdown.
  }
  life.abort(new Error("no longer looking"));
  await Promise.all(hearing);
}

const directoryOf = (path: string) => path.slice(0, path.lastIndexOf("/")) || "/";

async function hear(
  directory: string,
  hints: Notifier,
  { files, log }: WatchedFilesParts,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const _ of files.watch(directory, signal)) hints.notify();
  } catch (error) {
    // The files are still read every minute.
    if (!signal.aborted) log.error("Failed to keep watching a directory", error, { directory });
  }
}

/** The returned function reads the files and returns whether their content is valid. */
function looker<T>({ what, paths, parse, fault, cell }: WatchedFiles<T>, { files, log }: WatchedFilesParts) {
  let last: string | undefined;
  let reported: string | undefined;
  return async (): Promise<boolean> => {
    const found = await content(files, paths);
    const texts = found.kind === "texts" ? found.texts : undefined;
    const key = texts?.join("\0");
    if (key !== undefined && key === last) {
      reported = undefined;
      return true;
    }
    const parsed = texts === undefined ? undefined : parse(texts);
    const trouble = found.kind === "trouble" ? found.why : parsed === undefined ? undefined : fault(parsed);
    if (trouble !== undefined || parsed === undefined) {
      if (trouble !== reported)
        log.error(`Failed to load ${what}; the previous content stays in use`, new Error(trouble), { paths });
      reported = trouble;
      return false;
    }
    [last, reported] = [key, undefined];
    cell.set(parsed);
    log.info(0, `Loaded ${what}`, { paths });
    return true;
  };
}

type Content =
  | { readonly kind: "texts"; readonly texts: readonly string[] }
  | { readonly kind: "trouble"; readonly why: string };

async function content(files: WatchedFilesParts["files"], paths: readonly string[]): Promise<Content> {
  try {
    const bytes = await Promise.all(paths.map((path) => readLinked(files, path, CERTIFICATE_FILE_BYTES_MAX)));
    return { kind: "texts", texts: bytes.map((one) => new TextDecoder().decode(one)) };
  } catch (error) {
    return { kind: "trouble", why: errorText(error) };
  }
}

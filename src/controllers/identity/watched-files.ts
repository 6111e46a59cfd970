/**
 * Keeps a cell at what files say that somebody else writes: read at the start, at hints of their folders, and every minute. Content that is
 * broken, or not there, leaves the cell as it is, with a line in the log; the same trouble is told once.
 */
import { errorText } from "../../base/error-text.ts";
import { changedWithin } from "../../concurrency/changed-within.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { linkSignals } from "../../concurrency/link-signals.ts";
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
  /** For the log. */
  readonly what: string;
  readonly paths: readonly string[];
  /** Whether changes are heeded, or only what is found first. */
  readonly reload: boolean;
  readonly parse: (texts: readonly string[]) => T;
  /** Why the content is of no use; undefined when it is. */
  readonly fault: (parsed: T) => string | undefined;
  readonly cell: LatestCell<T | undefined>;
}

const LOOK_AGAIN_MS = 60_000;
/** A file that is missing or broken is most likely being made. */
const TROUBLED_AGAIN_MS = 5000;

/** Ends with its signal, or after the first good content where changes are not heeded. */
export async function watchFiles<T>(
  wanted: WatchedFiles<T>,
  parts: WatchedFilesParts,
  shutdown: AbortSignal,
): Promise<void> {
  const { clock } = parts;
  const hints = new LatestCell(0);
  using life = linkSignals(shutdown);
  const hearing = [...new Set(wanted.paths.map(folderOf))].map((folder) => hear(folder, hints, parts, life.signal));
  const look = looker(wanted, parts);
  while (!shutdown.aborted) {
    const seen = hints.version;
    const isGood = await look();
    if (isGood && !wanted.reload) break;
    const waitMs = isGood ? LOOK_AGAIN_MS : TROUBLED_AGAIN_MS;
    await changedWithin(clock, [{ cell: hints, seen }], waitMs, shutdown).catch(() => {}); // Rejects at the end only.
  }
  life.abort(new Error("no longer looking"));
  await Promise.all(hearing);
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/")) || "/";

async function hear(
  folder: string,
  hints: LatestCell<number>,
  { files, log }: WatchedFilesParts,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const _ of files.watch(folder, signal)) hints.set(hints.value + 1);
  } catch (error) {
    // It is looked at every minute all the same.
    if (!signal.aborted) log.error("a folder can no longer be watched", error, { folder });
  }
}

/** Says whether what is there is good. */
function looker<T>({ what, paths, parse, fault, cell }: WatchedFiles<T>, { files, log }: WatchedFilesParts) {
  let last: string | undefined;
  let told: string | undefined;
  return async (): Promise<boolean> => {
    const found = await content(files, paths);
    const texts = found.kind === "texts" ? found.texts : undefined;
    const key = texts?.join("\0");
    if (key !== undefined && key === last) {
      told = undefined;
      return true;
    }
    const parsed = texts === undefined ? undefined : parse(texts);
    const trouble = found.kind === "trouble" ? found.why : parsed === undefined ? undefined : fault(parsed);
    if (trouble !== undefined || parsed === undefined) {
      if (trouble !== told)
        log.error(`${what} cannot be used; what was read before stays`, new Error(trouble), { paths });
      told = trouble;
      return false;
    }
    [last, told] = [key, undefined];
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

/**
 * Static pods from a folder, or from one file. The folder is read at every hint and at least every `checkEveryMs`; files that did
 * not change are not parsed again. A file that cannot be used takes nothing away from the others, and its own last good pod stays
 * until the file has been bad for a whole period: somebody may be writing it right now.
 */
import { changedWithin } from "../../concurrency/changed-within.ts";
import { type Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { unlessShutDown } from "../../concurrency/unless-shut-down.ts";
import type { SourceState } from "../../domain/pod/desired-pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { ManifestFolder } from "./manifest-folder.ts";
import type { StaticPodNamer } from "./manifests.ts";

export interface FileSourceOptions {
  readonly path: string;
  readonly checkEveryMs: number;
  readonly nodeName: string;
}

export interface FileSourceParts {
  readonly files: Pick<HostFiles, "facts" | "list" | "read" | "readLink" | "watch">;
  readonly clock: Clock;
  readonly log: Log;
  readonly namer: StaticPodNamer;
  /** Changes when a UID that could not be given before may be given now. */
  readonly listedSandboxes: Latest<unknown>;
  readonly state: LatestCell<SourceState>;
}

/** How soon a folder that is not there, or no longer watched, is tried again. */
const WATCH_RETRY_MS = 1000;

export async function runFileSource(
  options: FileSourceOptions,
  parts: FileSourceParts,
  shutdown: AbortSignal,
): Promise<void> {
  const hints = new LatestCell(0);
  await Promise.all([readFolder(options, parts, hints, shutdown), watchFolder(options, parts, hints, shutdown)]);
}

async function readFolder(
  options: FileSourceOptions,
  { files, clock, log, namer, listedSandboxes, state }: FileSourceParts,
  hints: Latest<number>,
  shutdown: AbortSignal,
): Promise<void> {
  const folder = new ManifestFolder(options, { files, clock, log });
  while (!shutdown.aborted) {
    const [hinted, listed] = [hints.version, listedSandboxes.version];
    const manifests = await folder.read();
    const pods = manifests === undefined ? undefined : await namer.nameIfPossible(manifests, log);
    if (pods !== undefined && isNews(state.value, pods)) state.set({ kind: "seen", pods });
    const waits = manifests !== undefined && pods === undefined;
    const wakers = [{ cell: hints, seen: hinted }, ...(waits ? [{ cell: listedSandboxes, seen: listed }] : [])];
    await unlessShutDown(shutdown, () => changedWithin(clock, wakers, options.checkEveryMs, shutdown));
  }
}

/** The same UIDs are the same pods, but for one whose manifest names its UID itself and changed otherwise. */
function isNews(before: SourceState, pods: readonly object[]): boolean {
  return before.kind === "unseen" || JSON.stringify(before.pods) !== JSON.stringify(pods);
}

async function watchFolder(
  { path }: FileSourceOptions,
  { files, clock, log }: FileSourceParts,
  hints: LatestCell<number>,
  shutdown: AbortSignal,
): Promise<void> {
  const hint = () => hints.set(hints.value + 1);
  let failing = false;
  while (!shutdown.aborted) {
    try {
      const target = await watchTarget(files, path);
      if (target !== undefined) {
        for await (const _ of files.watch(target, shutdown)) {
          failing = false;
          hint();
        }
      }
    } catch (error) {
      if (shutdown.aborted) return;
      if (!failing) log.info(2, "Unable to watch config path", { path, error });
      failing = true;
    }
    try {
      await sleep(clock, WATCH_RETRY_MS, shutdown);
    } catch {
      return;
    }
    // What happened while nobody watched.
    hint();
  }
}

/** The folder itself, or the folder of the one file; undefined while there is nothing. */
async function watchTarget(files: FileSourceParts["files"], path: string): Promise<string | undefined> {
  const facts = await files.facts(path);
  if (facts === undefined) return undefined;
  if (facts.kind === "file") return path.slice(0, path.lastIndexOf("/")) || "/";
  return path;
}

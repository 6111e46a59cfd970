/**
 * Reads static pods from a directory or a single file. The directory is read at every hint and at least every
 * `checkEveryMs`; unchanged files are not parsed again. An invalid file does not affect the others. Its own last valid
 * pod stays until the file has been invalid for a whole period: somebody may be writing the file right now. A file that
 * was removed and created again restarts its pod, if a hint says so; without the hint the pod keeps running.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { SourceState } from "../../domain/pod/desired-pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DirectoryHint, HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { type FileManifest, ManifestDirectory } from "./manifest-directory.ts";
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
  /** Changes when a UID that could not be assigned before may be assignable now. */
  readonly listedSandboxes: Latest<unknown>;
  readonly state: LatestCell<SourceState>;
}

/** Retry interval for a path that is missing or no longer watched. */
const WATCH_RETRY_MS = 1000;

export async function runFileSource(
  options: FileSourceOptions,
  parts: FileSourceParts,
  shutdown: AbortSignal,
): Promise<void> {
  const hints = new FileHints();
  await Promise.all([readDirectory(options, parts, hints, shutdown), watchDirectory(options, parts, hints, shutdown)]);
}

class FileHints extends Notifier {
  /** Names of files that were removed and created again since the last read. */
  recreated: ReadonlySet<string> = new Set();

  add({ recreated }: DirectoryHint): void {
    this.recreated = new Set([...this.recreated, ...recreated]);
    this.notify();
  }

  take(): ReadonlySet<string> {
    const { recreated } = this;
    this.recreated = new Set();
    return recreated;
  }
}

async function readDirectory(
  options: FileSourceOptions,
  { files, clock, log, namer, listedSandboxes, state }: FileSourceParts,
  hints: FileHints,
  shutdown: AbortSignal,
): Promise<void> {
  const directory = new ManifestDirectory(options, { files, clock, log });
  while (!shutdown.aborted) {
    const [hinted, listed] = [hints.version, listedSandboxes.version];
    const manifests = await directory.read(hints.take());
    const pods = manifests === undefined ? undefined : await namer.nameIfPossible(manifests, log);
    const incarnations = incarnationsOf(manifests ?? [], pods ?? []);
    if (pods !== undefined && isNews(state.value, pods, incarnations)) state.set({ kind: "seen", pods, incarnations });
    const waits = manifests !== undefined && pods === undefined;
    const wakers = [{ cell: hints, seen: hinted }, ...(waits ? [{ cell: listedSandboxes, seen: listed }] : [])];
    await unlessShutDown(shutdown, () => waitForChange(clock, wakers, options.checkEveryMs, shutdown));
  }
}

/** `pods` are those of `manifests`, in the same order. */
const incarnationsOf = (manifests: readonly FileManifest[], pods: readonly Pod[]): ReadonlyMap<string, number> =>
  new Map(pods.map(({ metadata }, index) => [metadata?.uid ?? "", manifests[index]?.incarnation ?? 0]));

/** Compares whole pods: a manifest that sets its own UID can change while the UID stays the same. */
function isNews(before: SourceState, pods: readonly Pod[], incarnations: ReadonlyMap<string, number>): boolean {
  if (before.kind === "unseen" || JSON.stringify(before.pods) !== JSON.stringify(pods)) return true;
  return [...incarnations].some(([uid, incarnation]) => before.incarnations?.get(uid) !== incarnation);
}

async function watchDirectory(
  { path }: FileSourceOptions,
  { files, clock, log }: FileSourceParts,
  hints: FileHints,
  shutdown: AbortSignal,
): Promise<void> {
  let failing = false;
  while (!shutdown.aborted) {
    try {
      const target = await watchTarget(files, path);
      if (target !== undefined) {
        for await (const hint of files.watch(target, shutdown)) {
          failing = false;
          hints.add(hint);
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
    // Reads what changed while no watch was active.
    hints.notify();
  }
}

/** The directory itself, or the directory of the single file; undefined while the path does not exist. */
async function watchTarget(files: FileSourceParts["files"], path: string): Promise<string | undefined> {
  const facts = await files.facts(path);
  if (facts === undefined) return undefined;
  if (facts.kind === "file") return path.slice(0, path.lastIndexOf("/")) || "/";
  return path;
}

/**
 * Removes the pod directories, log directories and cgroups that terminated pods left on the node. Cleanup runs only
 * when all sources are ready, and only for UIDs that no source, worker or runtime view knows. A pod directory stays
 * while it contains volumes.
 */

import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { CgroupName } from "../../domain/resources/cgroup-values.ts";
import { NO_SHARES } from "../../domain/resources/cpu-units.ts";
import type { PodVolumes } from "../../domain/volumes/volume-state.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import { type HostFiles, isMissing } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";

export interface OrphanCleanupOptions {
  readonly files: HostFiles;
  readonly cgroups: Cgroups;
  readonly clock: Clock;
  readonly log: Log;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  readonly mountState: ReadonlyTable<string, PodVolumes>;
  readonly volumesKnown: Latest<boolean>;
  readonly sourcesReady: Latest<boolean>;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogLinks: string;
  /** The parent cgroups of pods, one per QoS class. */
  readonly podParents: readonly CgroupName[];
  readonly podMetrics?: Pick<PodMetrics, "orphansCleaned" | "orphansNotCleaned">;
}

const EVERY_MS = 30_000;
/** Minimum interval between two sweeps, however many pods terminate. */
const NOT_SOONER_MS = 2_000;

/** Sweeps soon after the last state of a pod is forgotten, and every `EVERY_MS`. */
export async function cleanUpOrphans(options: OrphanCleanupOptions, shutdown: AbortSignal): Promise<void> {
  const { sourcesReady, volumesKnown, clock } = options;
  const forgotten = new Notifier();
  const { admittedPods, podOutcomes, podRuntimeStatus, mountState } = options;
  const unwatch = [admittedPods, podOutcomes, podRuntimeStatus, mountState].map((table) =>
    table.watch((uid) => {
      if (!isKnown(uid, options)) forgotten.notify();
    }),
  );
  try {
    await unlessShutDown(shutdown, async () => {
      while (!shutdown.aborted) {
        const seen = forgotten.version;
        if (sourcesReady.value && volumesKnown.value) await sweepAll(options, shutdown);
        await sleep(clock, NOT_SOONER_MS, shutdown);
        await waitForChange(clock, [{ cell: forgotten, seen }], EVERY_MS - NOT_SOONER_MS, shutdown);
      }
    });
  } finally {
    for (const end of unwatch) end();
  }
}

async function sweepAll(options: OrphanCleanupOptions, shutdown: AbortSignal): Promise<void> {
  const { files, rootDir, podLogsDir, containerLogLinks } = options;
  const directories = () => files.list(`${rootDir}/pods`);
  let [orphans, kept] = [0, 0];
  const failed = await sweep("directories of pods", options, directories, async (uid) => {
    if (isKnown(uid, options) || options.mountState.get(uid) !== undefined) return;
    orphans += 1;
    if (!(await removeDirectory(uid, options))) kept += 1;
  });
  options.podMetrics?.orphansCleaned.set(orphans);
  options.podMetrics?.orphansNotCleaned.set(failed + kept);
  await sweep(
    "log directories",
    options,
    () => files.list(podLogsDir),
    (entry) => removeLogs(entry, options),
  );
  await sweep(
    "links to logs",
    options,
    () => files.list(containerLogLinks),
    (entry) => removeLink(entry, options),
  );
  for (const parent of options.podParents) {
    const groups = () => options.cgroups.children(parent);
    await sweep("cgroups", options, groups, (child) => removeCgroup(parent, child, options, shutdown));
  }
}

/**
 * One failed removal does not prevent the others; all failures together cause one log line. Returns the number of
 * failures.
 */
async function sweep(
  what: string,
  { log }: OrphanCleanupOptions,
  list: () => Promise<readonly string[]>,
  remove: (entry: string) => Promise<void>,
): Promise<number> {
  const failures: unknown[] = [];
  const attempt = async <T>(act: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await act();
    } catch (error) {
      if (!isMissing(error)) failures.push(error);
      return undefined;
    }
  };
  for (const entry of (await attempt(list)) ?? []) await attempt(() => remove(entry));
  if (failures.length > 0) log.error(`Failed to remove orphaned ${what}`, failures[0], { failed: failures.length });
  return failures.length;
}

const isKnown = (uid: string, { admittedPods, podOutcomes, podRuntimeStatus }: OrphanCleanupOptions): boolean =>
  [admittedPods, podOutcomes, podRuntimeStatus].some((table) => table.get(uid) !== undefined);

/** Returns whether the directory was removed. */
async function removeDirectory(uid: string, options: OrphanCleanupOptions): Promise<boolean> {
  const { files, rootDir } = options;
  const directory = `${rootDir}/pods/${uid}`;
  // Volume data is not ours to delete: volume directories are removed only when empty.
  for (const name of ["volumes", "plugins"]) await removeHollow(`${directory}/${name}`, files);
  if ((await files.facts(`${directory}/volumes`)) !== undefined) return false;
  await files.removeTree(directory);
  return true;
}

/** A previous kubelet process may have died between unmounting the volumes and removing their plugin directories. */
async function removeHollow(directory: string, files: HostFiles): Promise<void> {
  if ((await files.facts(directory)) === undefined) return;
  for (const name of await files.list(directory)) await removeEmpty(`${directory}/${name}`, files);
  await removeEmpty(directory, files);
}

async function removeEmpty(directory: string, files: HostFiles): Promise<void> {
  if ((await files.facts(directory))?.kind !== "directory") return;
  if ((await files.list(directory)).length === 0) await files.removeDirectory(directory);
}

async function removeLogs(entry: string, options: OrphanCleanupOptions): Promise<void> {
  const { files, podLogsDir } = options;
  const uid = entry.split("_").at(-1) ?? "";
  if (entry.split("_").length === 3 && !isKnown(uid, options)) await files.removeTree(`${podLogsDir}/${entry}`);
}

/** Removes a symlink whose log no longer exists. */
async function removeLink(entry: string, { files, containerLogLinks }: OrphanCleanupOptions): Promise<void> {
  const path = `${containerLogLinks}/${entry}`;
  if ((await files.facts(path))?.kind !== "link") return;
  if ((await files.facts(await files.readLink(path))) === undefined) await files.removeFile(path);
}

async function removeCgroup(
  parent: CgroupName,
  child: string,
  options: OrphanCleanupOptions,
  signal: AbortSignal,
): Promise<void> {
  const { files, rootDir, cgroups } = options;
  const uid = child.startsWith("pod") ? child.slice("pod".length) : undefined;
  if (uid === undefined || isKnown(uid, options)) return;
  const name = [...parent, child];
  // While a volume remains, its memory is charged to this cgroup. Processes that still run in the cgroup get the lowest
  // CPU shares.
  const holdsVolumes = (await files.facts(`${rootDir}/pods/${uid}/volumes`)) !== undefined;
  if (holdsVolumes) await cgroups.apply(name, { cpuShares: NO_SHARES });
  else await cgroups.destroy(name, signal);
}

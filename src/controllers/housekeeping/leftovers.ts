/**
 * Removes what pods that are over have left on the node: their folders, log folders and cgroups. Only when every source has spoken, and
 * only of UIDs that no one knows: not the sources, not a worker, not the runtime. A folder stays as long as volumes are in it.
 */
import { changedWithin } from "../../concurrency/changed-within.ts";
import { type Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { ReadTable } from "../../concurrency/latest-table.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { unlessShutDown } from "../../concurrency/unless-shut-down.ts";
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

export interface LeftoversOptions {
  readonly files: HostFiles;
  readonly cgroups: Cgroups;
  readonly clock: Clock;
  readonly log: Log;
  readonly admittedPods: ReadTable<string, AdmittedPod>;
  readonly podOutcomes: ReadTable<string, PodOutcome>;
  readonly podRuntimeStatus: ReadTable<string, PodRuntimeView>;
  readonly mountState: ReadTable<string, PodVolumes>;
  readonly volumesKnown: Latest<boolean>;
  readonly sourcesReady: Latest<boolean>;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogLinks: string;
  /** The groups that hold pods, one for each quality of service. */
  readonly podParents: readonly CgroupName[];
  readonly podMetrics?: Pick<PodMetrics, "orphansCleaned" | "orphansNotCleaned">;
}

const EVERY_MS = 30_000;
/** However many pods go one after the other. */
const NOT_SOONER_MS = 2_000;

/** Soon after the last word about a pod, and now and then. */
export async function removeLeftovers(options: LeftoversOptions, shutdown: AbortSignal): Promise<void> {
  const { sourcesReady, volumesKnown, clock } = options;
  const forgotten = new LatestCell(0);
  const { admittedPods, podOutcomes, podRuntimeStatus, mountState } = options;
  const unwatch = [admittedPods, podOutcomes, podRuntimeStatus, mountState].map((table) =>
    table.watch((uid) => {
      if (!isKnown(uid, options)) forgotten.set(forgotten.value + 1);
    }),
  );
  try {
    await unlessShutDown(shutdown, async () => {
      while (!shutdown.aborted) {
        const seen = forgotten.version;
        if (sourcesReady.value && volumesKnown.value) await sweepAll(options, shutdown);
        await sleep(clock, NOT_SOONER_MS, shutdown);
        await changedWithin(clock, [{ cell: forgotten, seen }], EVERY_MS - NOT_SOONER_MS, shutdown);
      }
    });
  } finally {
    for (const end of unwatch) end();
  }
}

async function sweepAll(options: LeftoversOptions, shutdown: AbortSignal): Promise<void> {
  const { files, rootDir, podLogsDir, containerLogLinks } = options;
  const folders = () => files.list(`${rootDir}/pods`);
  let [orphans, kept] = [0, 0];
  const failed = await sweep("folders of pods", options, folders, async (uid) => {
    if (isKnown(uid, options) || options.mountState.get(uid) !== undefined) return;
    orphans += 1;
    if (!(await removeFolder(uid, options))) kept += 1;
  });
  options.podMetrics?.orphansCleaned.set(orphans);
  options.podMetrics?.orphansNotCleaned.set(failed + kept);
  await sweep(
    "log folders",
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

/** One that cannot be removed does not keep the others, and however many they are, the log gets one line. Answers with how many there were. */
async function sweep(
  what: string,
  { log }: LeftoversOptions,
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
  if (failures.length > 0) log.error(`leftover ${what} could not be removed`, failures[0], { failed: failures.length });
  return failures.length;
}

const isKnown = (uid: string, { admittedPods, podOutcomes, podRuntimeStatus }: LeftoversOptions): boolean =>
  [admittedPods, podOutcomes, podRuntimeStatus].some((table) => table.get(uid) !== undefined);

/** Whether it is gone. */
async function removeFolder(uid: string, options: LeftoversOptions): Promise<boolean> {
  const { files, rootDir } = options;
  const folder = `${rootDir}/pods/${uid}`;
  // What a volume left is not ours to delete: its folders go only when they are empty.
  for (const name of ["volumes", "plugins"]) await removeHollow(`${folder}/${name}`, files);
  if ((await files.facts(`${folder}/volumes`)) !== undefined) return false;
  await files.removeTree(folder);
  return true;
}

/** Whoever took the volumes away may have died before the folders of their kinds were gone too. */
async function removeHollow(folder: string, files: HostFiles): Promise<void> {
  if ((await files.facts(folder)) === undefined) return;
  for (const name of await files.list(folder)) await removeEmpty(`${folder}/${name}`, files);
  await removeEmpty(folder, files);
}

async function removeEmpty(folder: string, files: HostFiles): Promise<void> {
  if ((await files.facts(folder))?.kind !== "folder") return;
  if ((await files.list(folder)).length === 0) await files.removeFolder(folder);
}

async function removeLogs(entry: string, options: LeftoversOptions): Promise<void> {
  const { files, podLogsDir } = options;
  const uid = entry.split("_").at(-1) ?? "";
  if (entry.split("_").length === 3 && !isKnown(uid, options)) await files.removeTree(`${podLogsDir}/${entry}`);
}

/** A link whose log is gone helps nobody. */
async function removeLink(entry: string, { files, containerLogLinks }: LeftoversOptions): Promise<void> {
  const path = `${containerLogLinks}/${entry}`;
  if ((await files.facts(path))?.kind !== "link") return;
  if ((await files.facts(await files.readLink(path))) === undefined) await files.removeFile(path);
}

async function removeCgroup(
  parent: CgroupName,
  child: string,
  options: LeftoversOptions,
  signal: AbortSignal,
): Promise<void> {
  const { files, rootDir, cgroups } = options;
  const uid = child.startsWith("pod") ? child.slice("pod".length) : undefined;
  if (uid === undefined || isKnown(uid, options)) return;
  const name = [...parent, child];
  // As long as a volume is left its memory is charged here; what runs in the group meanwhile gets the least there is.
  const holdsVolumes = (await files.facts(`${rootDir}/pods/${uid}/volumes`)) !== undefined;
  if (holdsVolumes) await cgroups.apply(name, { cpuShares: NO_SHARES });
  else await cgroups.destroy(name, signal);
}

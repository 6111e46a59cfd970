/**
 * Removes what pods that are over have left on the node: their folders, log folders and cgroups. Only when every source has spoken, and
 * only of UIDs that no one knows: not the sources, not a worker, not the runtime, not the volumes.
 */
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadTable } from "../../concurrency/latest-table.ts";
import { sleep } from "../../concurrency/sleep.ts";
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
}

const EVERY_MS = 30_000;

export async function removeLeftovers(options: LeftoversOptions, shutdown: AbortSignal): Promise<void> {
  const { sourcesReady, volumesKnown, clock } = options;
  while (!shutdown.aborted) {
    if (sourcesReady.value && volumesKnown.value) {
      const { files, rootDir, podLogsDir, containerLogLinks } = options;
      const folders = () => files.list(`${rootDir}/pods`);
      await sweep("folders of pods", options, folders, (uid) => removeFolder(uid, options));
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
    await sleep(clock, EVERY_MS, shutdown).catch(() => undefined);
  }
}

/** One that cannot be removed does not keep the others, and however many they are, the log gets one line. */
async function sweep(
  what: string,
  { log }: LeftoversOptions,
  list: () => Promise<readonly string[]>,
  remove: (entry: string) => Promise<void>,
): Promise<void> {
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
}

const isKnown = (uid: string, tables: LeftoversOptions): boolean =>
  [tables.admittedPods, tables.podOutcomes, tables.podRuntimeStatus, tables.mountState].some(
    (table) => table.get(uid) !== undefined,
  );

async function removeFolder(uid: string, options: LeftoversOptions): Promise<void> {
  const { files, rootDir } = options;
  if (isKnown(uid, options)) return;
  const folder = `${rootDir}/pods/${uid}`;
  // What a volume left is not ours to delete: its folders go only when they are empty.
  for (const name of ["volumes", "plugins"]) await removeEmpty(`${folder}/${name}`, files);
  if ((await files.facts(`${folder}/volumes`)) === undefined) await files.removeTree(folder);
}

async function removeEmpty(folder: string, files: HostFiles): Promise<void> {
  if ((await files.facts(folder)) === undefined) return;
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

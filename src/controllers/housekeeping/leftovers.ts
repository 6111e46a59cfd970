/**
 * Removes what pods that are over have left on the node: their folders, log folders and cgroups. Only when every source has spoken, and
 * only of UIDs that no one knows: not the sources, not a worker, not the runtime.
 */
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadTable } from "../../concurrency/latest-table.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { CgroupName } from "../../domain/resources/cgroup-values.ts";
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
  readonly sourcesReady: Latest<boolean>;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogLinks: string;
  /** The groups that hold pods, one for each quality of service. */
  readonly podParents: readonly CgroupName[];
}

const EVERY_MS = 30_000;

export async function removeLeftovers(options: LeftoversOptions, shutdown: AbortSignal): Promise<void> {
  const { sourcesReady, clock } = options;
  while (!shutdown.aborted) {
    if (sourcesReady.value) {
      await sweep("folders of pods", options, () => sweepFolders(options));
      await sweep("log folders", options, () => sweepLogs(options));
      await sweep("links to logs", options, () => sweepLinks(options));
      await sweep("cgroups", options, () => sweepCgroups(options, shutdown));
    }
    await sleep(clock, EVERY_MS, shutdown).catch(() => undefined);
  }
}

async function sweep(what: string, { log }: LeftoversOptions, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!isMissing(error)) log.error(`leftover ${what} could not be removed`, error);
  }
}

const isKnown = (uid: string, { admittedPods, podOutcomes, podRuntimeStatus }: LeftoversOptions): boolean =>
  admittedPods.get(uid) !== undefined || podOutcomes.get(uid) !== undefined || podRuntimeStatus.get(uid) !== undefined;

async function sweepFolders(options: LeftoversOptions): Promise<void> {
  const { files, rootDir } = options;
  for (const uid of await files.list(`${rootDir}/pods`)) {
    if (isKnown(uid, options)) continue;
    const folder = `${rootDir}/pods/${uid}`;
    // What a volume left is not ours to delete: its folders go only when they are empty.
    for (const name of ["volumes", "plugins"]) await removeEmpty(`${folder}/${name}`, files);
    if ((await files.facts(`${folder}/volumes`)) === undefined) await files.removeTree(folder);
  }
}

async function removeEmpty(folder: string, files: HostFiles): Promise<void> {
  if ((await files.facts(folder)) === undefined) return;
  if ((await files.list(folder)).length === 0) await files.removeFolder(folder);
}

async function sweepLogs(options: LeftoversOptions): Promise<void> {
  const { files, podLogsDir } = options;
  for (const entry of await files.list(podLogsDir)) {
    const uid = entry.split("_").at(-1) ?? "";
    if (entry.split("_").length === 3 && !isKnown(uid, options)) await files.removeTree(`${podLogsDir}/${entry}`);
  }
}

/** A link whose log is gone helps nobody. */
async function sweepLinks({ files, containerLogLinks }: LeftoversOptions): Promise<void> {
  for (const entry of await files.list(containerLogLinks)) {
    const path = `${containerLogLinks}/${entry}`;
    if ((await files.facts(path))?.kind !== "link") continue;
    if ((await files.facts(await files.readLink(path))) === undefined) await files.removeFile(path);
  }
}

async function sweepCgroups(options: LeftoversOptions, signal: AbortSignal): Promise<void> {
  for (const parent of options.podParents) {
    for (const child of await options.cgroups.children(parent)) {
      const uid = child.startsWith("pod") ? child.slice("pod".length) : undefined;
      if (uid !== undefined && !isKnown(uid, options)) await options.cgroups.destroy([...parent, child], signal);
    }
  }
}

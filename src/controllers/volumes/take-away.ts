/**
 * Tears down a pod's volumes based on what is on the node, not on memory: after a crash at any step the next attempt
 * finishes the work.
 */
import { errorText } from "../../base/error-text.ts";
import { storagePlugin, type VolumeMetrics } from "../../domain/metrics/volume-metrics.ts";
import { markersDirectory, podVolumesDirectory, subPathsDirectory } from "../../domain/volumes/layout.ts";
import {
  type PodRemains,
  parseVolumeDirectories,
  planTakeAway,
  type TakeAwayPlan,
  type VolumeRemoval,
} from "../../domain/volumes/take-away-plan.ts";
import { listIfThere } from "../../ports/host-files.ts";
import { MountError } from "../../ports/mounts.ts";
import type { VolumePlugin } from "./plugin.ts";
import type { SetUpPorts } from "./set-up-ports.ts";
import type { StagedVolumes } from "./staged-volumes.ts";

export type TakeAwayPorts = Pick<SetUpPorts, "files" | "mounts" | "clock">;

export interface TakeAway {
  readonly rootDir: string;
  readonly podDirectory: string;
  readonly ledger: ReadonlySet<string>;
  readonly ports: TakeAwayPorts;
  readonly plugins: readonly VolumePlugin[];
  readonly staged: StagedVolumes;
  /** Whether this mount has not responded for so long that it is unmounted lazily, even if still in use. */
  readonly mustLetGo: (path: string) => boolean;
  /** Called when an unmount got no response. */
  readonly onSilence: (path: string) => void;
  readonly onLetGo: (path: string) => void;
  readonly volumeMetrics?: VolumeMetrics | undefined;
  readonly signal: AbortSignal;
}

export type TakeAwayOutcome =
  | { readonly kind: "gone" }
  /** Errors by volume name on disk, or by path if it is not a volume. */
  | { readonly kind: "left"; readonly troubles: ReadonlyMap<string, string> };

export async function readRemains(
  podDirectory: string,
  ledger: ReadonlySet<string>,
  plugins: readonly VolumePlugin[],
  { files, mounts }: TakeAwayPorts,
): Promise<PodRemains> {
  const root = podVolumesDirectory(podDirectory);
  const directories = [];
  for (const directory of await listIfThere(files, root))
    directories.push({ directory, names: await listIfThere(files, `${root}/${directory}`) });
  const table = await mounts.table();
  const own = table.filter(({ path }) => path.startsWith(`${podDirectory}/`));
  return { podDirectory, ...parseVolumeDirectories(directories, plugins), mounts: own, ledger };
}

export async function takeAway(work: TakeAway): Promise<TakeAwayOutcome> {
  const { podDirectory, ports, ledger, plugins } = work;
  const plan = planTakeAway(await readRemains(podDirectory, ledger, plugins, ports));
  const troubles = new Map<string, string>();
  const attempt = async (what: string, act: () => Promise<void>): Promise<boolean> => {
    try {
      await act();
      return true;
    } catch (error) {
      work.signal.throwIfAborted();
      troubles.set(what, errorText(error));
      return false;
    }
  };
  if (!(await takeSubPaths(plan, work, attempt))) return { kind: "left", troubles };
  await Promise.all(
    plan.volumes.map((volume) => attempt(volume.name, () => timed(volume, work, () => takeVolume(volume, work)))),
  );
  for (const path of plan.foreign) troubles.set(path, `a mount point that is not ours: ${path}`);
  if (troubles.size === 0) await attempt("volumes", () => removeDirectories(work));
  return troubles.size === 0 ? { kind: "gone" } : { kind: "left", troubles };
}

/** Unmounts subPaths before volumes: a volume with a mounted subPath is in use. */
async function takeSubPaths(
  plan: TakeAwayPlan,
  work: TakeAway,
  attempt: (what: string, act: () => Promise<void>) => Promise<boolean>,
): Promise<boolean> {
  const { podDirectory, ports, signal } = work;
  const done = await Promise.all(plan.subPaths.map((path) => attempt(path, () => unmount(path, work))));
  const directory = subPathsDirectory(podDirectory);
  if (done.includes(false)) return false;
  if ((await ports.files.facts(directory)) === undefined) return true;
  return attempt(directory, () => ports.mounts.removeTree(directory, signal));
}

async function timed(
  { kind }: VolumeRemoval,
  { ports: { clock }, volumeMetrics }: TakeAway,
  take: () => Promise<void>,
): Promise<void> {
  const sinceMs = clock.monotonicMs();
  let status = "fail-unknown";
  try {
    await take();
    status = "success";
  } finally {
    const seconds = (clock.monotonicMs() - sinceMs) / 1000;
    volumeMetrics?.operations.observe(seconds, storagePlugin(kind.name), "volume_unmount", status, "false");
  }
}

async function takeVolume(volume: VolumeRemoval, work: TakeAway): Promise<void> {
  const { ports, signal, plugins, rootDir, staged } = work;
  // The ready file is deleted first: a volume being torn down is no longer complete.
  await ports.files.removeTree(volume.marker);
  if (volume.unmount) await unmount(volume.path, work);
  // Unstage before removing the directory, which shows the next kubelet process that something may be left to unstage.
  const plugin = plugins.find(({ name }) => name === volume.kind.name);
  await plugin?.unstage?.({ name: volume.name, uid: uidOf(work), rootDir, ports, staged, signal });
  if (volume.empties) await ports.mounts.removeTree(volume.path, signal);
  else await ports.files.removeDirectory(volume.path);
}

const uidOf = ({ podDirectory }: TakeAway) => podDirectory.slice(podDirectory.lastIndexOf("/") + 1);

async function unmount(path: string, work: TakeAway): Promise<void> {
  const { ports, signal } = work;
  const lazy = work.mustLetGo(path);
  try {
    await ports.mounts.unmount(path, { lazy }, signal);
  } catch (error) {
    if (error instanceof MountError && error.code === "unresponsive") work.onSilence(path);
    throw error;
  }
  if (lazy) work.onLetGo(path);
}

/**
 * Removes the directories of the volumes and of their ready files; the rest of the pod's directory belongs to others.
 */
async function removeDirectories({ podDirectory, ports: { files } }: TakeAway): Promise<void> {
  // A power loss may have dropped a volume's directory but kept its ready file.
  await files.removeTree(markersDirectory(podDirectory));
  for (const parent of [podVolumesDirectory(podDirectory), `${podDirectory}/plugins`]) {
    for (const name of await listIfThere(files, parent)) await files.removeDirectory(`${parent}/${name}`);
    await files.removeDirectory(parent);
  }
}

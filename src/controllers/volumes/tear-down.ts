/**
 * Tears down a pod's volumes based on what is on the node, not on memory: after a crash at any step the next attempt
 * finishes the work.
 */
import { errorText } from "../../base/error-text.ts";
import { storagePlugin, type VolumeMetrics } from "../../domain/metrics/volume-metrics.ts";
import { podVolumesDirectory, readyFilesRoot, subPathsDirectory } from "../../domain/volumes/layout.ts";
import {
  type PodMounts,
  parseVolumeDirectories,
  planTearDown,
  type TearDownPlan,
  type VolumeRemoval,
} from "../../domain/volumes/tear-down-plan.ts";
import { listIfThere } from "../../ports/host-files.ts";
import { MountError } from "../../ports/mounts.ts";
import type { SetUpPorts, VolumePlugin } from "./plugin.ts";
import type { StagedVolumes } from "./staged-volumes.ts";
import type { VolumeQuotas } from "./volume-quotas.ts";

export type TearDownPorts = Pick<SetUpPorts, "files" | "mounts" | "clock">;

export interface TearDownWork {
  readonly rootDir: string;
  readonly podDirectory: string;
  readonly journaledMounts: ReadonlySet<string>;
  readonly ports: TearDownPorts;
  readonly plugins: readonly VolumePlugin[];
  readonly staged: StagedVolumes;
  readonly quotas?: VolumeQuotas | undefined;
  /** Whether this mount has not responded for so long that it is unmounted lazily, even if still in use. */
  readonly mustUnmountLazily: (path: string) => boolean;
  /** Called when an unmount got no response. */
  readonly onUnresponsive: (path: string) => void;
  readonly onLazyUnmount: (path: string) => void;
  readonly volumeMetrics?: VolumeMetrics | undefined;
  readonly signal: AbortSignal;
}

export type TearDownOutcome =
  | { readonly kind: "gone" }
  /** Errors by volume name on disk, or by path if it is not a volume. */
  | { readonly kind: "left"; readonly troubles: ReadonlyMap<string, string> };

export async function readMounted(
  podDirectory: string,
  journaledMounts: ReadonlySet<string>,
  plugins: readonly VolumePlugin[],
  { files, mounts }: TearDownPorts,
): Promise<PodMounts> {
  const root = podVolumesDirectory(podDirectory);
  const directories = [];
  for (const directory of await listIfThere(files, root))
    directories.push({ directory, names: await listIfThere(files, `${root}/${directory}`) });
  const table = await mounts.table();
  const own = table.filter(({ path }) => path.startsWith(`${podDirectory}/`));
  return { podDirectory, ...parseVolumeDirectories(directories, plugins), mounts: own, journaledMounts };
}

export async function tearDown(work: TearDownWork): Promise<TearDownOutcome> {
  const { podDirectory, ports, journaledMounts, plugins } = work;
  const plan = planTearDown(await readMounted(podDirectory, journaledMounts, plugins, ports));
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
  if (!(await unmountSubPaths(plan, work, attempt))) return { kind: "left", troubles };
  await Promise.all(
    plan.volumes.map((volume) => attempt(volume.name, () => timed(volume, work, () => tearDownVolume(volume, work)))),
  );
  for (const path of plan.foreign) troubles.set(path, `a mount point that is not ours: ${path}`);
  if (troubles.size === 0) await attempt("volumes", () => removeDirectories(work));
  return troubles.size === 0 ? { kind: "gone" } : { kind: "left", troubles };
}

/** Unmounts subPaths before volumes: a volume with a mounted subPath is in use. */
async function unmountSubPaths(
  plan: TearDownPlan,
  work: TearDownWork,
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
  { ports: { clock }, volumeMetrics }: TearDownWork,
  act: () => Promise<void>,
): Promise<void> {
  const sinceMs = clock.monotonicMs();
  let status = "fail-unknown";
  try {
    await act();
    status = "success";
  } finally {
    const seconds = (clock.monotonicMs() - sinceMs) / 1000;
    volumeMetrics?.operations.observe(seconds, storagePlugin(kind.name), "volume_unmount", status, "false");
  }
}

async function tearDownVolume(volume: VolumeRemoval, work: TearDownWork): Promise<void> {
  const { ports, signal, plugins, rootDir, staged } = work;
  // The ready file is deleted first: a volume being torn down is no longer complete.
  await ports.files.removeTree(volume.readyFileDirectory);
  if (volume.unmount) await unmount(volume.path, work);
  // Unstage before removing the directory, which shows the next kubelet process that something may be left to unstage.
  const plugin = plugins.find(({ name }) => name === volume.kind.name);
  await plugin?.unstage?.({ name: volume.name, uid: uidOf(work), rootDir, ports, staged, signal });
  if (volume.empties) await ports.mounts.removeTree(volume.path, signal);
  else await ports.files.removeDirectory(volume.path);
}

const uidOf = ({ podDirectory }: TearDownWork) => podDirectory.slice(podDirectory.lastIndexOf("/") + 1);

async function unmount(path: string, work: TearDownWork): Promise<void> {
  const { ports, signal } = work;
  const lazy = work.mustUnmountLazily(path);
  try {
    await ports.mounts.unmount(path, { lazy }, signal);
  } catch (error) {
    if (error instanceof MountError && error.code === "unresponsive") work.onUnresponsive(path);
    throw error;
  }
  if (lazy) work.onLazyUnmount(path);
}

/**
 * Removes the directories of the volumes and of their ready files; the rest of the pod's directory belongs to others.
 */
async function removeDirectories({ podDirectory, ports: { files }, quotas, signal }: TearDownWork): Promise<void> {
  await quotas?.releaseRemoved(podVolumesDirectory(podDirectory), signal);
  // A power loss may have dropped a volume's directory but kept its ready file.
  await files.removeTree(readyFilesRoot(podDirectory));
  for (const parent of [podVolumesDirectory(podDirectory), `${podDirectory}/plugins`]) {
    for (const name of await listIfThere(files, parent)) await files.removeDirectory(`${parent}/${name}`);
    await files.removeDirectory(parent);
  }
}

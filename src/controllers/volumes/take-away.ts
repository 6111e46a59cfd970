/** Takes a pod's volumes from the node, by what is there and not by what is remembered: a crash at any step leaves work for the next try, never a mystery. */
import { errorText } from "../../base/error-text.ts";
import { storagePlugin, type VolumeMetrics } from "../../domain/metrics/volume-metrics.ts";
import { markersFolder, podVolumesFolder, subPathsFolder } from "../../domain/volumes/layout.ts";
import {
  type PodRemains,
  parseVolumeFolders,
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
  readonly podFolder: string;
  readonly ledger: ReadonlySet<string>;
  readonly ports: TakeAwayPorts;
  readonly plugins: readonly VolumePlugin[];
  readonly staged: StagedVolumes;
  /** Whether this mount has given no answer for so long that it is let go of, whoever still uses it. */
  readonly mustLetGo: (path: string) => boolean;
  /** An unmount got no answer. */
  readonly onSilence: (path: string) => void;
  readonly onLetGo: (path: string) => void;
  readonly volumeMetrics?: VolumeMetrics | undefined;
  readonly signal: AbortSignal;
}

export type TakeAwayOutcome =
  | { readonly kind: "gone" }
  /** By volume, as it is called on disk, or by path for what is no volume. */
  | { readonly kind: "left"; readonly troubles: ReadonlyMap<string, string> };

export async function readRemains(
  podFolder: string,
  ledger: ReadonlySet<string>,
  plugins: readonly VolumePlugin[],
  { files, mounts }: TakeAwayPorts,
): Promise<PodRemains> {
  const root = podVolumesFolder(podFolder);
  const folders = [];
  for (const folder of await listIfThere(files, root))
    folders.push({ folder, names: await listIfThere(files, `${root}/${folder}`) });
  const table = await mounts.table();
  const own = table.filter(({ path }) => path.startsWith(`${podFolder}/`));
  return { podFolder, ...parseVolumeFolders(folders, plugins), mounts: own, ledger };
}

export async function takeAway(work: TakeAway): Promise<TakeAwayOutcome> {
  const { podFolder, ports, ledger, plugins } = work;
  const plan = planTakeAway(await readRemains(podFolder, ledger, plugins, ports));
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
  if (troubles.size === 0) await attempt("volumes", () => removeFolders(work));
  return troubles.size === 0 ? { kind: "gone" } : { kind: "left", troubles };
}

/** Parts of volumes before the volumes: a volume whose part is still mounted is in use. */
async function takeSubPaths(
  plan: TakeAwayPlan,
  work: TakeAway,
  attempt: (what: string, act: () => Promise<void>) => Promise<boolean>,
): Promise<boolean> {
  const { podFolder, ports, signal } = work;
  const done = await Promise.all(plan.subPaths.map((path) => attempt(path, () => unmount(path, work))));
  const folder = subPathsFolder(podFolder);
  if (done.includes(false)) return false;
  if ((await ports.files.facts(folder)) === undefined) return true;
  return attempt(folder, () => ports.mounts.removeTree(folder, signal));
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
  // The mark first: what is being taken away is no longer whole.
  await ports.files.removeTree(volume.marker);
  if (volume.unmount) await unmount(volume.path, work);
  // Before the directory is removed: by it the next agent knows that there may be something to unstage.
  const plugin = plugins.find(({ name }) => name === volume.kind.name);
  await plugin?.unstage?.({ name: volume.name, uid: uidOf(work), rootDir, ports, staged, signal });
  if (volume.empties) await ports.mounts.removeTree(volume.path, signal);
  else await ports.files.removeFolder(volume.path);
}

const uidOf = ({ podFolder }: TakeAway) => podFolder.slice(podFolder.lastIndexOf("/") + 1);

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

/** What held the volumes, and what marked them; the rest of the pod's folder is not ours. */
async function removeFolders({ podFolder, ports: { files } }: TakeAway): Promise<void> {
  // A machine that lost its power may have lost a volume's folder and kept its mark.
  await files.removeTree(markersFolder(podFolder));
  for (const parent of [podVolumesFolder(podFolder), `${podFolder}/plugins`]) {
    for (const name of await listIfThere(files, parent)) await files.removeFolder(`${parent}/${name}`);
    await files.removeFolder(parent);
  }
}

/**
 * What is left of a pod's volumes on the node, and in which order it goes: parts of volumes that were bound apart, then the volumes, each unmounted before
 * anything of it is removed. Only what the kernel's table and the layout, or the table and the ledger, agree upon is touched; any other mount point found
 * there is somebody else's and stays, and with it everything above it.
 */
import { kindOfFolder, markerFolder, subPathsFolder, type VolumeKind, volumeFolder } from "./layout.ts";

export interface FoundVolume {
  readonly kind: VolumeKind;
  readonly name: string;
}

export interface FoundMount {
  readonly path: string;
  readonly type: string;
}

export interface PodRemains {
  readonly podFolder: string;
  readonly volumes: readonly FoundVolume[];
  /** Entries of the pod's volume folder that no plugin of ours made. */
  readonly strangers: readonly string[];
  /** Mount points at or below the pod's folder. */
  readonly mounts: readonly FoundMount[];
  /** Paths that the journal says we mounted. */
  readonly ledger: ReadonlySet<string>;
}

export interface VolumeRemoval extends FoundVolume {
  readonly path: string;
  readonly marker: string;
  readonly unmount: boolean;
  /** A folder that held files of the pod is emptied; one that was only a place to mount upon is not. */
  readonly empties: boolean;
}

export interface TakeAwayPlan {
  /** Deepest first. */
  readonly subPaths: readonly string[];
  readonly volumes: readonly VolumeRemoval[];
  /** Mount points that are not ours to touch. */
  readonly foreign: readonly string[];
}

const isBelow = (path: string, folder: string) => path.startsWith(`${folder}/`);

export function planTakeAway(remains: PodRemains): TakeAwayPlan {
  const { podFolder, mounts, ledger } = remains;
  const parts = subPathsFolder(podFolder);
  // Nobody else mounts below that folder: it is ours by its name.
  const subPaths = mounts.filter(({ path }) => isBelow(path, parts)).map(({ path }) => path);
  const ours = new Set(subPaths);
  const volumes = remains.volumes.map(({ kind, name }): VolumeRemoval => {
    const path = volumeFolder(podFolder, kind.name, name);
    const mount = mounts.findLast((each) => each.path === path);
    const unmount = mount !== undefined && (ledger.has(path) || kind.ownsMount(mount.type));
    if (unmount) ours.add(path);
    return { kind, name, path, marker: markerFolder(podFolder, kind.name, name), unmount, empties: kind.holdsFiles };
  });
  const foreign = [...new Set(mounts.filter(({ path }) => !ours.has(path)).map(({ path }) => path))];
  return { subPaths: subPaths.toSorted((a, b) => b.length - a.length), volumes, foreign };
}

/** What the names in a pod's volume folder say. */
export function parseVolumeFolders(
  folders: readonly { readonly folder: string; readonly names: readonly string[] }[],
  kinds: readonly VolumeKind[],
): Pick<PodRemains, "volumes" | "strangers"> {
  const volumes: FoundVolume[] = [];
  const strangers: string[] = [];
  for (const { folder, names } of folders) {
    const kind = kindOfFolder(folder, kinds);
    if (kind === undefined) strangers.push(folder);
    else volumes.push(...names.map((name) => ({ kind, name })));
  }
  return { volumes, strangers };
}

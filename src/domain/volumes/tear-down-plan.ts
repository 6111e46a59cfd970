/**
 * Plans the removal of what is left of a pod's volumes on the node: first the subPath mounts, then the volumes. Each is
 * unmounted before anything of it is removed. A mount is touched only if the kernel's mount table and the layout agree
 * on it, or the mount table and the journal. Any other mount point found there is not ours and stays, and so does
 * everything above it.
 */
import { kindOfDirectory, readyFileDirectory, subPathsDirectory, type VolumeKind, volumeDirectory } from "./layout.ts";

export interface FoundVolume {
  readonly kind: VolumeKind;
  readonly name: string;
}

export interface FoundMount {
  readonly path: string;
  readonly type: string;
}

export interface PodMounts {
  readonly podDirectory: string;
  readonly volumes: readonly FoundVolume[];
  /** Entries of the pod's volumes directory that none of our plugins created. */
  readonly unknownPlugins: readonly string[];
  /** Mount points at or below the pod's directory. */
  readonly mounts: readonly FoundMount[];
  /** Paths that Deckhand mounted, according to the journal. */
  readonly journaledMounts: ReadonlySet<string>;
}

export interface VolumeRemoval extends FoundVolume {
  readonly path: string;
  readonly readyFileDirectory: string;
  readonly unmount: boolean;
  /** A directory that held files of the pod is emptied; one that was only a mount point is not. */
  readonly empties: boolean;
}

export interface TearDownPlan {
  /** Deepest first. */
  readonly subPaths: readonly string[];
  readonly volumes: readonly VolumeRemoval[];
  /** Mount points that Deckhand must not touch. */
  readonly foreign: readonly string[];
}

const isBelow = (path: string, directory: string) => path.startsWith(`${directory}/`);

export function planTearDown(pod: PodMounts): TearDownPlan {
  const { podDirectory, mounts, journaledMounts } = pod;
  const parts = subPathsDirectory(podDirectory);
  // Only a kubelet mounts below that directory: its path identifies the mounts as ours.
  const subPaths = mounts.filter(({ path }) => isBelow(path, parts)).map(({ path }) => path);
  const ours = new Set(subPaths);
  const volumes = pod.volumes.map(({ kind, name }): VolumeRemoval => {
    const path = volumeDirectory(podDirectory, kind.name, name);
    const mount = mounts.findLast((each) => each.path === path);
    const unmount = mount !== undefined && (journaledMounts.has(path) || kind.ownsMount(mount.type));
    if (unmount) ours.add(path);
    return {
      kind,
      name,
      path,
      readyFileDirectory: readyFileDirectory(podDirectory, kind.name, name),
      unmount,
      empties: kind.holdsFiles,
    };
  });
  const foreign = [...new Set(mounts.filter(({ path }) => !ours.has(path)).map(({ path }) => path))];
  return { subPaths: subPaths.toSorted((a, b) => b.length - a.length), volumes, foreign };
}

/** Interprets the names in a pod's volumes directory. */
export function parseVolumeDirectories(
  directories: readonly { readonly directory: string; readonly names: readonly string[] }[],
  kinds: readonly VolumeKind[],
): Pick<PodMounts, "volumes" | "unknownPlugins"> {
  const volumes: FoundVolume[] = [];
  const unknownPlugins: string[] = [];
  for (const { directory, names } of directories) {
    const kind = kindOfDirectory(directory, kinds);
    if (kind === undefined) unknownPlugins.push(directory);
    else volumes.push(...names.map((name) => ({ kind, name })));
  }
  return { volumes, unknownPlugins };
}

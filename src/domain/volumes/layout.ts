/**
 * The paths of a pod's volumes on the node. The next kubelet, of any implementation, finds the volumes by these paths.
 */
import type { Volume } from "../../api/gen/core-v1.ts";

/** One kind of volume, as far as pods and the node show it. */
export interface VolumeKind {
  /** As in its directory (`kubernetes.io~NAME`) and its metrics (`kubernetes.io/NAME`). */
  readonly name: string;
  /** The fields of a pod's volume that name this kind. */
  readonly sources: readonly (keyof Volume)[];
  /** Whether a mount of this filesystem type at a volume's directory belongs to a volume of this kind. */
  ownsMount(type: string): boolean;
  /** Whether the directory holds files that are removed with the volume; otherwise it is only a mount point. */
  readonly holdsFiles: boolean;
}

const EMPTY_DIR = "empty-dir";
const directoryOf = (plugin: string) => `kubernetes.io~${plugin}`;

export const podVolumesDirectory = (podDirectory: string) => `${podDirectory}/volumes`;

/** `name`: the volume's name in the pod, or the name of its PersistentVolume if it has one. */
export const volumeDirectory = (podDirectory: string, plugin: string, name: string) =>
  `${podVolumesDirectory(podDirectory)}/${directoryOf(plugin)}/${name}`;

/** Holds the ready files of the volumes that were set up completely, and nothing else. */
export const readyFilesRoot = (podDirectory: string) => `${podDirectory}/plugins/${directoryOf(EMPTY_DIR)}`;

/**
 * The directory of the file `ready`, which shows that a volume was set up completely. A volume of written files has it
 * under another name.
 */
export const readyFileDirectory = (podDirectory: string, plugin: string, name: string) =>
  `${readyFilesRoot(podDirectory)}/${plugin === EMPTY_DIR ? name : `wrapped_${name}`}`;

export const subPathsDirectory = (podDirectory: string) => `${podDirectory}/volume-subpaths`;

/** `name`: as for the volume's directory; `index` counts the container's mounts. */
export const subPathTarget = (podDirectory: string, name: string, container: string, index: number) =>
  `${subPathsDirectory(podDirectory)}/${name}/${container}/${index}`;

/** The mount that all pods with the same device share. */
export const deviceMountDirectory = (rootDir: string, volume: string) =>
  `${rootDir}/plugins/kubernetes.io/local-volume/mounts/${volume}`;

/** The kind that a pod's volume names. Undefined: none of these, or a claim. */
export const kindOf = <K extends VolumeKind>(volume: Volume, kinds: readonly K[]): K | undefined =>
  kinds.find(({ sources }) => sources.some((source) => volume[source] !== undefined));

/** Undefined: no known kind of volume has this directory. */
export const kindOfDirectory = (directory: string, kinds: readonly VolumeKind[]): VolumeKind | undefined =>
  kinds.find(({ name }) => directoryOf(name) === directory);

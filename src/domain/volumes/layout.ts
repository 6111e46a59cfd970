/** Where a pod's volumes lie on the node. The next kubelet, of whatever make, finds them by these paths. */
import type { Volume } from "../../api/gen/core-v1.ts";

/** One kind of volume, as far as it shows in pods and on the node. */
export interface VolumeKind {
  /** As its directory (`kubernetes.io~NAME`) and its metrics (`kubernetes.io/NAME`) have it. */
  readonly name: string;
  /** The fields of a pod's volume that name this kind. */
  readonly sources: readonly (keyof Volume)[];
  /** A mount of this file system's type at a volume's directory belongs to a volume of this kind. */
  ownsMount(type: string): boolean;
  /** The directory holds files that go with the volume; otherwise it is only a place to mount at. */
  readonly holdsFiles: boolean;
}

const EMPTY_DIR = "empty-dir";
const folderOf = (plugin: string) => `kubernetes.io~${plugin}`;

export const podVolumesFolder = (podFolder: string) => `${podFolder}/volumes`;

/** `name` is the volume's in the pod, and the PersistentVolume's for those that have one. */
export const volumeFolder = (podFolder: string, plugin: string, name: string) =>
  `${podVolumesFolder(podFolder)}/${folderOf(plugin)}/${name}`;

/** Where a pod's volumes are marked as set up whole. Nothing else is kept there. */
export const markersFolder = (podFolder: string) => `${podFolder}/plugins/${folderOf(EMPTY_DIR)}`;

/** The folder whose file `ready` says that a volume was set up whole. A volume that holds written files has one under another name. */
export const markerFolder = (podFolder: string, plugin: string, name: string) =>
  `${markersFolder(podFolder)}/${plugin === EMPTY_DIR ? name : `wrapped_${name}`}`;

export const subPathsFolder = (podFolder: string) => `${podFolder}/volume-subpaths`;

/** `name` as for the volume's folder; `index` counts the container's mounts. */
export const subPathTarget = (podFolder: string, name: string, container: string, index: number) =>
  `${subPathsFolder(podFolder)}/${name}/${container}/${index}`;

/** What is mounted once for all pods that use a device. */
export const deviceMountFolder = (rootDir: string, volume: string) =>
  `${rootDir}/plugins/kubernetes.io/local-volume/mounts/${volume}`;

/** The kind that a pod's volume names. Undefined: none of these, or a claim. */
export const kindOf = <K extends VolumeKind>(volume: Volume, kinds: readonly K[]): K | undefined =>
  kinds.find(({ sources }) => sources.some((source) => volume[source] !== undefined));

/** Undefined: no known kind of volume has this directory. */
export const kindOfFolder = (folder: string, kinds: readonly VolumeKind[]): VolumeKind | undefined =>
  kinds.find(({ name }) => folderOf(name) === folder);

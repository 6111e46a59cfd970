/** Where a pod's volumes lie on the node. The next kubelet, of whatever make, finds them by these paths. */

export type VolumePlugin =
  | "empty-dir"
  | "configmap"
  | "secret"
  | "projected"
  | "downward-api"
  | "host-path"
  | "local-volume"
  | "image";

const folderOf = (plugin: VolumePlugin) => `kubernetes.io~${plugin}`;

export const podVolumesFolder = (podFolder: string) => `${podFolder}/volumes`;

/** `name` is the volume's in the pod, and the PersistentVolume's for those that have one. */
export const volumeFolder = (podFolder: string, plugin: VolumePlugin, name: string) =>
  `${podVolumesFolder(podFolder)}/${folderOf(plugin)}/${name}`;

/** Where a pod's volumes are marked as set up whole. Nothing else is kept there. */
export const markersFolder = (podFolder: string) => `${podFolder}/plugins/${folderOf("empty-dir")}`;

/** The folder whose file `ready` says that a volume was set up whole. A volume that holds written files has one under another name. */
export const markerFolder = (podFolder: string, plugin: VolumePlugin, name: string) =>
  `${markersFolder(podFolder)}/${plugin === "empty-dir" ? name : `wrapped_${name}`}`;

export const subPathsFolder = (podFolder: string) => `${podFolder}/volume-subpaths`;

/** `name` as for the volume's folder; `index` counts the container's mounts. */
export const subPathTarget = (podFolder: string, name: string, container: string, index: number) =>
  `${subPathsFolder(podFolder)}/${name}/${container}/${index}`;

/** What is mounted once for all pods that use a device. */
export const deviceMountFolder = (rootDir: string, volume: string) =>
  `${rootDir}/plugins/kubernetes.io/local-volume/mounts/${volume}`;

const PLUGINS: ReadonlyMap<string, VolumePlugin> = new Map(
  (
    ["empty-dir", "configmap", "secret", "projected", "downward-api", "host-path", "local-volume", "image"] as const
  ).map((plugin) => [folderOf(plugin), plugin]),
);

/** Undefined: a folder that is none of ours. */
export const pluginOfFolder = (folder: string): VolumePlugin | undefined => PLUGINS.get(folder);

/** What a plugin mounts at a volume's folder; undefined: nothing, it is a folder on the node's own disk. */
export function expectedMount(plugin: VolumePlugin): "memory" | "memoryOrNothing" | "bind" | undefined {
  switch (plugin) {
    case "secret":
    case "projected":
    case "downward-api":
      return "memory";
    case "empty-dir":
      return "memoryOrNothing";
    case "local-volume":
      return "bind";
    default:
      return undefined;
  }
}

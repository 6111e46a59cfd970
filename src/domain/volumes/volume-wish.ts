/** What one volume of a pod asks for on this node: a folder, files, a mount. Where it cannot be told yet, what it waits for. */
import type { PersistentVolume, Pod, Volume } from "../../api/gen/core-v1.ts";
import type { KnownObject } from "../cluster-objects/known-object.ts";
import { fitsNode, type NodeNames } from "../node/node-selector.ts";
import { everyContainer } from "../pod/every-container.ts";
import { claimedVolume, claimNameOf } from "./claims.ts";
import type { VolumePlugin } from "./layout.ts";
import { hugepageVolumeSize, isHugepageMedium, memoryVolumeBytes } from "./memory-volume.ts";

export type VolumeWish =
  /** A folder of the pod's own: on the node's disk, in memory, or of huge pages. */
  | { readonly kind: "folder" }
  | { readonly kind: "memory"; readonly sizeBytes: bigint | undefined }
  | { readonly kind: "hugepages"; readonly pageSize: string }
  /** Written by us. Undefined `memory`: on the node's disk. */
  | {
      readonly kind: "files";
      readonly memory: { readonly sizeBytes: bigint | undefined } | undefined;
      readonly plugin: VolumePlugin;
    }
  | {
      readonly kind: "hostPath";
      readonly path: string;
      readonly type: string;
      readonly readOnly: boolean;
      readonly persistentName?: string;
    }
  | {
      readonly kind: "local";
      readonly source: string;
      readonly volumeName: string;
      readonly fsType: string;
      readonly mountOptions: readonly string[];
      readonly readOnly: boolean;
    }
  /** The runtime mounts it. */
  | { readonly kind: "image" }
  /** The objects that say what it is are not known yet. */
  | { readonly kind: "unknown" }
  /** They are, and do not say it yet. */
  | { readonly kind: "unprocessed"; readonly message: string }
  /** `operation` is what users know it by. */
  | {
      readonly kind: "refused";
      readonly operation: string;
      readonly message: string;
      readonly persistentName?: string;
    };

const refused = (message: string, operation = "MountVolume.SetUp failed"): VolumeWish => ({
  kind: "refused",
  operation,
  message,
});

/** Behind a claim it goes by the name that it has in the cluster. */
const persistent = (wish: VolumeWish, persistentName: string): VolumeWish =>
  wish.kind === "refused" || wish.kind === "hostPath" ? { ...wish, persistentName } : wish;

export interface WishContext {
  readonly object: (key: string) => KnownObject<unknown> | undefined;
  readonly node: NodeNames;
  readonly allocatableMemoryBytes: bigint;
}

export function volumeWish(pod: Pod, volume: Volume, context: WishContext): VolumeWish {
  if (claimNameOf(pod.metadata?.name ?? "", volume) !== undefined) return ofClaim(pod, volume, context);
  if (volume.configMap !== undefined) return { kind: "files", memory: undefined, plugin: "configmap" };
  const memory = { sizeBytes: memoryVolumeBytes(pod, volume, context.allocatableMemoryBytes) };
  if (volume.secret !== undefined) return { kind: "files", memory, plugin: "secret" };
  if (volume.downwardAPI !== undefined) return { kind: "files", memory, plugin: "downward-api" };
  if (volume.projected !== undefined) return { kind: "files", memory, plugin: "projected" };
  if (volume.hostPath !== undefined) return hostPath(volume.hostPath.path, volume.hostPath.type ?? "", false);
  if (volume.image !== undefined) return { kind: "image" };
  if (volume.emptyDir !== undefined) return ofMedium(pod, volume, volume.emptyDir.medium ?? "", context);
  return refused(`this node agent does not support the kind of volume ${volume.name} yet`);
}

function ofMedium(pod: Pod, volume: Volume, medium: string, { allocatableMemoryBytes }: WishContext): VolumeWish {
  if (medium === "") return { kind: "folder" };
  if (medium === "Memory") return { kind: "memory", sizeBytes: memoryVolumeBytes(pod, volume, allocatableMemoryBytes) };
  if (!isHugepageMedium(medium)) return refused(`unknown storage medium "${medium}"`);
  const size = hugepageVolumeSize(pod, medium);
  return size.kind === "size" ? { kind: "hugepages", pageSize: size.text } : refused(size.message);
}

function hostPath(path: string, type: string, readOnly: boolean): VolumeWish {
  const stepsBack = path.split("/").includes("..");
  if (stepsBack) return refused(`invalid HostPath \`${path}\`: must not contain '..'`);
  return { kind: "hostPath", path, type, readOnly };
}

function ofClaim(pod: Pod, volume: Volume, context: WishContext): VolumeWish {
  const claimed = claimedVolume(pod, volume, "mount", context.object);
  if (claimed.kind === "unknown") return claimed;
  if (claimed.kind === "waits") return { kind: "unprocessed", message: claimed.message };
  const wish = ofPersistent(claimed.volume, claimed.readOnly, context);
  return persistent(wish, claimed.volume.metadata?.name ?? "");
}

function ofPersistent(volume: PersistentVolume, readOnly: boolean, { node }: WishContext): VolumeWish {
  const { metadata, spec } = volume;
  const name = metadata?.name ?? "";
  if (!fitsNode(volume, node)) return refused("no matching NodeSelectorTerms", "MountVolume.NodeAffinity check failed");
  if (spec?.hostPath !== undefined) return hostPath(spec.hostPath.path, spec.hostPath.type ?? "", readOnly);
  if (spec?.local === undefined)
    return refused(`this node agent does not support the kind of PersistentVolume ${name} yet`);
  const { path, fsType } = spec.local;
  if (path === "") return refused("local volume source is nil or local path is not set");
  if (path.split("/").includes("..")) return refused(`invalid path: ${path} must not contain '..'`);
  const mountOptions = spec.mountOptions ?? [];
  return { kind: "local", source: path, volumeName: name, fsType: fsType ?? "ext4", mountOptions, readOnly };
}

/** What a volume is called on disk. */
export function placeOf(volume: Volume, wish: VolumeWish): { readonly plugin: VolumePlugin; readonly name: string } {
  switch (wish.kind) {
    case "files":
      return { plugin: wish.plugin, name: volume.name };
    case "local":
      return { plugin: "local-volume", name: wish.volumeName };
    case "hostPath":
      return { plugin: "host-path", name: wish.persistentName ?? volume.name };
    case "image":
      return { plugin: "image", name: volume.name };
    case "refused":
      return { plugin: "empty-dir", name: wish.persistentName ?? volume.name };
    default:
      return { plugin: "empty-dir", name: volume.name };
  }
}

/** The volumes that some container mounts; the others are nobody's business. */
export function usedVolumes({ spec }: Pod): readonly Volume[] {
  const used = new Set(
    everyContainer(spec).flatMap(({ volumeMounts, volumeDevices }) =>
      [...(volumeMounts ?? []), ...(volumeDevices ?? [])].map(({ name }) => name),
    ),
  );
  return (spec?.volumes ?? []).filter(({ name }) => used.has(name));
}

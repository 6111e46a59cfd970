/** Which volumes of a pod are measured, and how they are told. */
import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import { claimNameOf } from "../volumes/claims.ts";
import { volumeFolder } from "../volumes/layout.ts";
import type { PodVolumes } from "../volumes/volume-state.ts";
import { usedVolumes } from "../volumes/volume-wish.ts";
import type { FilesystemFigures, FileUsage } from "./figures.ts";
import type { VolumeStats } from "./summary-shape.ts";

export interface VolumeToMeasure {
  readonly name: string;
  readonly path: string;
  /** By walking over its files, or by asking its file system. */
  readonly how: "walk" | "filesystem";
  /** Only we write to it, so it stays as large as it is: once is enough, as the Go kubelet has it. */
  readonly once: boolean;
  /** It counts towards the pod's ephemeral storage. */
  readonly ephemeral: boolean;
  readonly claim: string | undefined;
}

export interface VolumeMeasure {
  readonly wallMs: number;
  readonly filesystem: FilesystemFigures;
  /** Of a volume that is walked over. */
  readonly files: FileUsage | undefined;
}

const isOnDisk = ({ emptyDir, configMap }: Volume): boolean =>
  configMap !== undefined || (emptyDir !== undefined && (emptyDir.medium ?? "") === "");

/** A path of the machine's own, and an image's files, are nobody's to measure. */
export function volumesToMeasure(pod: Pod, volumes: PodVolumes): readonly VolumeToMeasure[] {
  return usedVolumes(pod).flatMap((volume): readonly VolumeToMeasure[] => {
    const state = volumes.get(volume.name);
    if (state?.kind !== "mounted" || state.volume.path === "") return [];
    const common = { name: volume.name, path: state.volume.path, ephemeral: isOnDisk(volume) };
    const claim = claimNameOf(pod.metadata?.name ?? "", volume);
    if (claim !== undefined) {
      const isLocal = common.path.includes(volumeFolder("", "local-volume", ""));
      return isLocal ? [{ ...common, how: "filesystem", once: false, claim }] : [];
    }
    if (volume.emptyDir !== undefined) return [{ ...common, how: "walk", once: false, claim }];
    const isWritten = [volume.configMap, volume.secret, volume.projected, volume.downwardAPI].some(
      (source) => source !== undefined,
    );
    return isWritten ? [{ ...common, how: "walk", once: true, claim }] : [];
  });
}

export function volumeStats(volume: VolumeToMeasure, measure: VolumeMeasure, namespace: string): VolumeStats {
  const { filesystem, files } = measure;
  return {
    time: apiTime(measure.wallMs),
    availableBytes: filesystem.availableBytes,
    capacityBytes: filesystem.capacityBytes,
    usedBytes: files?.bytes ?? filesystem.capacityBytes - filesystem.freeBytes,
    inodesFree: filesystem.inodesFree,
    inodes: filesystem.inodes,
    inodesUsed: files?.inodes ?? filesystem.inodes - filesystem.inodesFree,
    name: volume.name,
    ...(volume.claim === undefined ? {} : { pvcRef: { name: volume.claim, namespace } }),
  };
}

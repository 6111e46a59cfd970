/** Which volumes of a pod are measured, and how they are reported. */
import type { Pod } from "../../api/gen/core-v1.ts";
import { apiTime } from "../../base/timestamp.ts";
import { claimNameOf } from "../cluster-objects/references.ts";
import { usedVolumes } from "../volumes/used-volumes.ts";
import type { PodVolumes, VolumeMeasurement } from "../volumes/volume-state.ts";
import type { FilesystemStats, FileUsage } from "./stats-reading.ts";
import type { VolumeStats } from "./summary-shape.ts";

export interface VolumeToMeasure extends VolumeMeasurement {
  readonly name: string;
  readonly path: string;
  readonly claim: string | undefined;
}

export interface VolumeMeasure {
  readonly wallMs: number;
  readonly filesystem: FilesystemStats;
  /** Set for a volume that is measured by walking its files. */
  readonly files: FileUsage | undefined;
}

/** The mounted volumes whose kind says how to measure them. */
export function volumesToMeasure(pod: Pod, volumes: PodVolumes): readonly VolumeToMeasure[] {
  return usedVolumes(pod).flatMap((volume): readonly VolumeToMeasure[] => {
    const state = volumes.get(volume.name);
    if (state?.kind !== "mounted" || state.volume.measured === undefined) return [];
    const { path, measured } = state.volume;
    return [{ ...measured, name: volume.name, path, claim: claimNameOf(pod.metadata?.name ?? "", volume) }];
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

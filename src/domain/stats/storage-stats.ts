/** The disk usage of a pod, its containers and the node, in the form of /stats/summary. */
import { apiTime } from "../../base/timestamp.ts";
import type { FilesystemUsage } from "../runtime/image.ts";
import type { FilesystemStats, FileUsage } from "./stats-reading.ts";
import type { ContainerStats, FsStats, VolumeStats } from "./summary-shape.ts";

type Capacity = Omit<FsStats, "time" | "usedBytes" | "inodesUsed">;

/** Capacity and free space, without what one consumer uses. */
const capacityOf = (stats: FilesystemStats | undefined): Capacity =>
  stats === undefined
    ? {}
    : {
        availableBytes: stats.availableBytes,
        capacityBytes: stats.capacityBytes,
        inodesFree: stats.inodesFree,
        inodes: stats.inodes,
      };

/** A whole filesystem. */
export const wholeOf = (stats: FilesystemStats, wallMs: number): FsStats => ({
  time: apiTime(wallMs),
  ...capacityOf(stats),
  usedBytes: stats.capacityBytes - stats.freeBytes,
  inodesUsed: stats.inodes - stats.inodesFree,
});

/** A part of a filesystem that the runtime reports: its images, or what one container wrote. */
export function layerOf(layer: FilesystemUsage | undefined, filesystem: FilesystemStats | undefined): FsStats {
  return {
    time: apiTime(Number((layer?.wallNs ?? 0n) / 1_000_000n)),
    ...capacityOf(filesystem),
    ...(layer?.usedBytes === undefined ? {} : { usedBytes: Number(layer.usedBytes) }),
    ...(layer?.inodesUsed === undefined ? {} : { inodesUsed: Number(layer.inodesUsed) }),
  };
}

/** Files of a container or a pod on the node's disk. */
export const filesOf = (usage: FileUsage, filesystem: FilesystemStats | undefined, wallMs: number): FsStats => ({
  time: apiTime(wallMs),
  ...capacityOf(filesystem),
  usedBytes: usage.bytes,
  inodesUsed: usage.inodes,
});

/**
 * All that counts towards a pod's ephemeral storage. Unknown values count as 0; the time is that of the newest part.
 */
export function ephemeralOf(
  filesystem: FilesystemStats | undefined,
  parts: {
    readonly containers: readonly ContainerStats[];
    readonly volumes: readonly VolumeStats[];
    readonly others: readonly FileUsage[];
  },
  wallMs: number,
): FsStats {
  const stats = [...parts.containers.flatMap(({ rootfs, logs }) => [rootfs, logs]), ...parts.volumes].filter(
    (part) => part !== undefined,
  );
  const sum = (one: (part: FsStats) => number | undefined, files: (usage: FileUsage) => number) =>
    stats.reduce((total, part) => total + (one(part) ?? 0), 0) +
    parts.others.reduce((total, part) => total + files(part), 0);
  const newest = stats.reduce((latest, { time }) => (time > latest ? time : latest), apiTime(wallMs));
  return {
    time: newest,
    ...capacityOf(filesystem),
    usedBytes: sum(
      (part) => part.usedBytes,
      ({ bytes }) => bytes,
    ),
    inodesUsed: sum(
      (part) => part.inodesUsed,
      ({ inodes }) => inodes,
    ),
  };
}

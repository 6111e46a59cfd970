/** The disk usage of a pod, its containers and the node, in the form of /stats/summary. */
import { apiTime } from "../../base/timestamp.ts";
import type { FilesystemUsage } from "../runtime/image.ts";
import type { FilesystemFigures, FileUsage } from "./figures.ts";
import type { ContainerStats, FsStats, VolumeStats } from "./summary-shape.ts";

type Room = Omit<FsStats, "time" | "usedBytes" | "inodesUsed">;

/** Capacity and free space, without what one consumer uses. */
const roomOf = (figures: FilesystemFigures | undefined): Room =>
  figures === undefined
    ? {}
    : {
        availableBytes: figures.availableBytes,
        capacityBytes: figures.capacityBytes,
        inodesFree: figures.inodesFree,
        inodes: figures.inodes,
      };

/** A whole filesystem. */
export const wholeOf = (figures: FilesystemFigures, wallMs: number): FsStats => ({
  time: apiTime(wallMs),
  ...roomOf(figures),
  usedBytes: figures.capacityBytes - figures.freeBytes,
  inodesUsed: figures.inodes - figures.inodesFree,
});

/** A part of a filesystem that the runtime reports: its images, or what one container wrote. */
export function layerOf(layer: FilesystemUsage | undefined, room: FilesystemFigures | undefined): FsStats {
  return {
    time: apiTime(Number((layer?.wallNs ?? 0n) / 1_000_000n)),
    ...roomOf(room),
    ...(layer?.usedBytes === undefined ? {} : { usedBytes: Number(layer.usedBytes) }),
    ...(layer?.inodesUsed === undefined ? {} : { inodesUsed: Number(layer.inodesUsed) }),
  };
}

/** Files of a container or a pod on the node's disk. */
export const filesOf = (usage: FileUsage, room: FilesystemFigures | undefined, wallMs: number): FsStats => ({
  time: apiTime(wallMs),
  ...roomOf(room),
  usedBytes: usage.bytes,
  inodesUsed: usage.inodes,
});

/**
 * All that counts towards a pod's ephemeral storage. Unknown values count as 0; the time is that of the newest part.
 */
export function ephemeralOf(
  room: FilesystemFigures | undefined,
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
    ...roomOf(room),
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

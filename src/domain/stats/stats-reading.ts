/**
 * Values read from the machine's cgroups at one moment, as plain numbers in the kernel's units, and what they say
 * directly: the working set, and the pod or container that owns a cgroup.
 *
 * A counter above 2^53 loses its last digits, as it does in a metric: in nanoseconds that is 104 days of one core. From
 * there on, values come in steps of two. An absent part belongs to a controller that the cgroup does not have. No limit
 * is `Infinity`.
 */

export interface PressureLine {
  readonly totalUs: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface PressureStats {
  readonly full: PressureLine;
  readonly some: PressureLine;
}

export interface CgroupCpuStats {
  readonly usageNs: number;
  readonly userNs: number;
  readonly systemNs: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNs: number;
  readonly burstPeriods: number;
  readonly burstNs: number;
  /** In units of cgroup v1, whatever the version. */
  readonly shares: number;
  readonly periodUs: number;
  /** 0: no quota. */
  readonly quotaUs: number;
  readonly pressure?: PressureStats;
}

export const NO_CPU: CgroupCpuStats = {
  usageNs: 0,
  userNs: 0,
  systemNs: 0,
  periods: 0,
  throttledPeriods: 0,
  throttledNs: 0,
  burstPeriods: 0,
  burstNs: 0,
  shares: 0,
  periodUs: 0,
  quotaUs: 0,
};

export interface CgroupMemoryStats {
  readonly usageBytes: number;
  readonly peakBytes: number;
  /** How often the limit was hit. */
  readonly failures: number;
  readonly kernelBytes: number;
  readonly cacheBytes: number;
  readonly rssBytes: number;
  readonly swapBytes: number;
  readonly mappedBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly oomKills: number;
  readonly limitBytes: number;
  /** On cgroup v1, together with memory. */
  readonly swapLimitBytes: number;
  readonly reservationBytes: number;
  readonly pressure?: PressureStats;
}

/** Nothing was measured, and nothing is limited. */
export const NO_MEMORY: CgroupMemoryStats = {
  usageBytes: 0,
  peakBytes: 0,
  failures: 0,
  kernelBytes: 0,
  cacheBytes: 0,
  rssBytes: 0,
  swapBytes: 0,
  mappedBytes: 0,
  activeFileBytes: 0,
  inactiveFileBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
  oomKills: 0,
  limitBytes: Infinity,
  swapLimitBytes: Infinity,
  reservationBytes: 0,
};

/** Memory that could not be reclaimed at once: the memory in use without file pages that were not accessed recently. */
export const workingSetBytes = (memory: Pick<CgroupMemoryStats, "usageBytes" | "inactiveFileBytes">): number =>
  Math.max(0, memory.usageBytes - memory.inactiveFileBytes);

export interface CgroupProcessStats {
  readonly processes: number;
  readonly openFiles: number;
  readonly sockets: number;
  readonly threads: number;
  /** 0: no limit. */
  readonly threadsMax: number;
  /** How many files the first process may open; -1: unlimited. Absent if it was not requested. */
  readonly openFilesMax?: number;
}

export interface BlockDeviceStats {
  readonly major: number;
  readonly minor: number;
  /** "/dev/vda"; empty if the name is unknown. */
  readonly device: string;
  /** By operation: "Read", "Write", and on cgroup v1 also "Sync", "Async", "Discard", "Total". */
  readonly bytes: Readonly<Record<string, number>>;
  readonly requests: Readonly<Record<string, number>>;
}

export interface CgroupIoStats {
  readonly devices: readonly BlockDeviceStats[];
  readonly pressure?: PressureStats;
}

export interface NetworkInterfaceStats {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

export interface CgroupStats {
  /** The cgroup's path from the root of the hierarchies: "/", "/kubepods/burstable/pod1/abc". */
  readonly id: string;
  readonly readWallMs: number;
  readonly createdWallMs: number;
  readonly cpu?: CgroupCpuStats;
  readonly memory?: CgroupMemoryStats;
  readonly processes?: CgroupProcessStats;
  readonly io?: CgroupIoStats;
  /** Of the machine and of sandboxes. */
  readonly network?: readonly NetworkInterfaceStats[];
}

/** In a cgroup's name: "<id>", "cri-containerd-<id>.scope", "crio-<id>.scope". */
const CONTAINER = /(?:^|-)([0-9a-f]{64})(?:\.scope)?$/;
/** In a cgroup's name: "pod<uid>", "kubepods-burstable-pod<uid>.slice" with the UID's dashes as underscores. */
const POD = /(?:^|-)pod([0-9a-f][0-9a-f_-]*)(?:\.slice)?$/;

const lastPart = (group: string): string => group.slice(group.lastIndexOf("/") + 1);

/** The runtime's ID of the container or sandbox that owns the cgroup with this path, for both cgroup drivers. */
export const containerIdOfGroup = (group: string): string | undefined => CONTAINER.exec(lastPart(group))?.[1];

/** The UID of the pod that owns the cgroup with this path, for both cgroup drivers. */
export const podUidOfGroup = (group: string): string | undefined =>
  POD.exec(lastPart(group))?.[1]?.replaceAll("_", "-");

export interface FilesystemStats {
  readonly capacityBytes: number;
  readonly freeBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface DiskStats {
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly ioMs: number;
  readonly weightedIoMs: number;
}

/** A filesystem of the machine, as a device. */
export interface MountStats extends FilesystemStats {
  /** "/dev/vda1"; a memory filesystem is named after its mount point. */
  readonly device: string;
  readonly disk?: DiskStats;
}

export interface StatsReading {
  readonly readWallMs: number;
  readonly bootedWallMs: number;
  /** Whether the kernel accounts for pressure in the cgroups that were read. */
  readonly knowsPressure: boolean;
  readonly groups: readonly CgroupStats[];
  /** Only in a reading with all details. */
  readonly mounts: readonly MountStats[];
  /** By requested path; a path that does not exist is omitted. */
  readonly filesystems: ReadonlyMap<string, FilesystemStats>;
  /** The disk usage of files, by requested path; a path that does not exist is omitted. */
  readonly files: ReadonlyMap<string, FileUsage>;
}

export interface FileUsage {
  readonly bytes: number;
  readonly inodes: number;
}

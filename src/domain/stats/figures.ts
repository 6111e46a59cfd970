/**
 * What was read of the machine's control groups at one moment, in plain numbers as the kernel counts them.
 *
 * A counter above 2^53 loses its last digits, as it does in a metric: that is 104 days of one core in nanoseconds, and from there on they come in
 * steps of two. An absent part belongs to a controller that the group does not have. No limit is `Infinity`.
 */

export interface PressureLine {
  readonly totalUs: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface PressureFigures {
  readonly full: PressureLine;
  readonly some: PressureLine;
}

export interface CpuFigures {
  readonly usageNs: number;
  readonly userNs: number;
  readonly systemNs: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNs: number;
  readonly burstPeriods: number;
  readonly burstNs: number;
  /** As v1 counts them, whatever the version. */
  readonly shares: number;
  readonly periodUs: number;
  /** 0: none. */
  readonly quotaUs: number;
  readonly pressure?: PressureFigures;
}

export const NO_CPU: CpuFigures = {
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

export interface MemoryFigures {
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
  /** Of v1, together with memory. */
  readonly swapLimitBytes: number;
  readonly reservationBytes: number;
  readonly pressure?: PressureFigures;
}

/** Nothing was counted, and nothing is limited. */
export const NO_MEMORY: MemoryFigures = {
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

export interface ProcessFigures {
  readonly processes: number;
  readonly openFiles: number;
  readonly sockets: number;
  readonly threads: number;
  /** 0: no limit. */
  readonly threadsMax: number;
  /** Of the first process: how many files it may open; -1: any number. Absent where nobody asks for it. */
  readonly openFilesMax?: number;
}

export interface DeviceFigures {
  readonly major: number;
  readonly minor: number;
  /** "/dev/vda"; empty where nobody knows its name. */
  readonly device: string;
  /** By operation: "Read", "Write", and of v1 also "Sync", "Async", "Discard", "Total". */
  readonly bytes: Readonly<Record<string, number>>;
  readonly requests: Readonly<Record<string, number>>;
}

export interface IoFigures {
  readonly devices: readonly DeviceFigures[];
  readonly pressure?: PressureFigures;
}

export interface InterfaceFigures {
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

export interface GroupFigures {
  /** Where it is, from the root of the hierarchies: "/", "/kubepods/burstable/pod1/abc". */
  readonly id: string;
  readonly readWallMs: number;
  readonly createdWallMs: number;
  readonly cpu?: CpuFigures;
  readonly memory?: MemoryFigures;
  readonly processes?: ProcessFigures;
  readonly io?: IoFigures;
  /** Of the machine, and of sandboxes. */
  readonly network?: readonly InterfaceFigures[];
}

export interface FilesystemFigures {
  readonly capacityBytes: number;
  readonly freeBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface DiskFigures {
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

/** A file system of the machine's own, as a device. */
export interface MountFigures extends FilesystemFigures {
  /** "/dev/vda1"; memory is called by where it is mounted. */
  readonly device: string;
  readonly disk?: DiskFigures;
}

export interface StatsReading {
  readonly readWallMs: number;
  readonly bootedWallMs: number;
  /** Whether the kernel counts pressure in the groups that were read. */
  readonly knowsPressure: boolean;
  readonly groups: readonly GroupFigures[];
  /** Only with every detail. */
  readonly mounts: readonly MountFigures[];
  /** By the paths that were asked for. One that is not there is left out. */
  readonly filesystems: ReadonlyMap<string, FilesystemFigures>;
  /** How much is in files, by the paths that were asked for. One that is not there is left out. */
  readonly files: ReadonlyMap<string, FileUsage>;
}

export interface FileUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** The machine's properties and usage. Every call measures again. */
export interface MachineFacts {
  readonly cpus: number;
  /** Such as "0-3". */
  readonly onlineCpus: string;
  /** 0 for both if the machine does not report them. */
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: bigint;
  readonly swapBytes: bigint;
  /** Pre-allocated bytes by page size in bytes; a size without allocated pages is listed with 0. */
  readonly hugepages: ReadonlyMap<bigint, bigint>;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly hostname: string;
  readonly pidsMax: number;
  readonly selinux: boolean;
  readonly apparmor: boolean;
}

export interface FilesystemFacts {
  /** Identifies the file system. */
  readonly device: string;
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
  readonly inodes: bigint;
  readonly inodesFree: bigint;
}

export interface InterfaceAddress {
  readonly interfaceName: string;
  readonly address: string;
  readonly family: "IPv4" | "IPv6";
}

export interface Machine {
  facts(): Promise<MachineFacts>;
  /** Bytes in use on the whole machine that cannot be reclaimed at once. */
  memoryWorkingSetBytes(): Promise<bigint>;
  /** The kernel's estimate of what programs can still use without swapping. */
  memoryAvailableBytes(): Promise<bigint>;
  processCount(): Promise<number>;
  /** The subordinate UIDs and GIDs that the operator assigns to this user; undefined if none are configured. */
  subordinateIds(user: string): Promise<{ readonly first: number; readonly length: number } | undefined>;
  /** The `thermal_throttle` directories of the CPUs that have one. */
  thermalPaths(): Promise<readonly string[]>;
  filesystem(path: string): Promise<FilesystemFacts>;
  addresses(): Promise<readonly InterfaceAddress[]>;
  /** The source address of traffic on the default route; undefined without a default route. */
  defaultRouteAddress(family: "IPv4" | "IPv6"): Promise<string | undefined>;
  /** Uses the machine's resolver. Empty if the name has no addresses. */
  lookup(name: string, signal: AbortSignal): Promise<readonly string[]>;
}

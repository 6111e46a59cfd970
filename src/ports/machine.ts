/** What the machine is and how full it is. Measured anew at each call. */
export interface MachineFacts {
  readonly cpus: number;
  /** Such as "0-3". */
  readonly onlineCpus: string;
  /** 0 for both where the machine does not tell. */
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: bigint;
  readonly swapBytes: bigint;
  /** Pre-allocated bytes, by page size in bytes; a size of which none is allocated is there with 0. */
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
  /** Tells two file systems apart. */
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
  /** Bytes in use that could not be given back at once, of the whole machine. */
  memoryWorkingSetBytes(): Promise<bigint>;
  processCount(): Promise<number>;
  /** The numbers of users and groups that the operator gives to this user for namespaces; undefined: the operator says nothing. */
  subordinateIds(user: string): Promise<{ readonly first: number; readonly length: number } | undefined>;
  /** Of each CPU that tells of its heat, where it does. */
  thermalPaths(): Promise<readonly string[]>;
  filesystem(path: string): Promise<FilesystemFacts>;
  addresses(): Promise<readonly InterfaceAddress[]>;
  /** The address other machines see when we leave by the default route; undefined without one. */
  defaultRouteAddress(family: "IPv4" | "IPv6"): Promise<string | undefined>;
  /** By the machine's own resolver. Empty when the name has none. */
  lookup(name: string, signal: AbortSignal): Promise<readonly string[]>;
}

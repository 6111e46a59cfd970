/** The resources of a container or sandbox, in the kernel's units. An absent field is left to the runtime. */
export interface LinuxResources {
  readonly cpuPeriodUs?: number;
  readonly cpuQuotaUs?: number;
  readonly cpuShares?: number;
  readonly memoryLimitBytes?: bigint;
  readonly memorySwapLimitBytes?: bigint;
  readonly oomScoreAdj?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limitBytes: bigint }[];
  /** cgroup v2 files by name, for values that no field above covers. */
  readonly unified?: Readonly<Record<string, string>>;
}

/** A cgroup's name and limits, independent of cgroup version and driver. */

/** From the root down: `["kubepods", "burstable", "pod1234"]`. */
export type CgroupName = readonly string[];

/** An absent value is left unchanged. */
export interface CgroupValues {
  readonly cpuShares?: number;
  /** -1: no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  /** -1: no limit. */
  readonly memoryLimitBytes?: bigint;
  /** -1: no limit. */
  readonly pidsMax?: bigint;
  /** For example "0-3". */
  readonly cpusetCpus?: string;
  /** By page size as the kernel spells it ("2MB"). */
  readonly hugepageLimitBytes?: ReadonlyMap<string, bigint>;
  /** cgroup v2 files that no field above covers. */
  readonly unified?: ReadonlyMap<string, string>;
}

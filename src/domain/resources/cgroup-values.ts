/** A control group's name and limits, before any version or driver gives them a form. */

/** From the root down: `["kubepods", "burstable", "pod1234"]`. */
export type CgroupName = readonly string[];

/** An absent value is left as it is. */
export interface CgroupValues {
  readonly cpuShares?: number;
  /** -1: no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  /** -1: no limit. */
  readonly memoryLimitBytes?: bigint;
  /** -1: no limit. */
  readonly pidsMax?: bigint;
  /** Such as "0-3". */
  readonly cpusetCpus?: string;
  /** By page size as the kernel spells it ("2MB"). */
  readonly hugepageLimitBytes?: ReadonlyMap<string, bigint>;
  /** cgroup v2 files without a field of their own. */
  readonly unified?: ReadonlyMap<string, string>;
}

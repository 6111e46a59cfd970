/** Converts values to files of cgroup v1, in the order of writing. Files of v2 are left out. */
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { inWholePages, pidsText, type Setting } from "./settings.ts";

/** What the kernel shows for no limit: the largest number of pages, in bytes. */
const MEMORY_UNLIMITED = "9223372036854771712";

export function v1Settings(values: CgroupValues): readonly Setting[] {
  const { cpusetCpus, memoryLimitBytes, cpuShares, cpuPeriodUs, cpuQuotaUs, pidsMax, hugepageLimitBytes } = values;
  return [
    ...one("cpuset", "cpuset.cpus", cpusetCpus),
    ...(memoryLimitBytes === undefined ? [] : memory(memoryLimitBytes)),
    ...one("cpu", "cpu.shares", cpuShares),
    ...one("cpu", "cpu.cfs_period_us", cpuPeriodUs),
    ...one("cpu", "cpu.cfs_quota_us", cpuQuotaUs),
    ...one("pids", "pids.max", pidsMax === undefined ? undefined : pidsText(pidsMax)),
    ...[...(hugepageLimitBytes ?? [])].flatMap(([size, bytes]) => hugetlb(size, bytes)),
  ];
}

const one = (controller: string, file: string, value: string | number | undefined): readonly Setting[] =>
  value === undefined ? [] : [{ controller, file, text: String(value) }];

function memory(bytes: bigint): readonly Setting[] {
  const limit = { controller: "memory", file: "memory.limit_in_bytes", text: String(bytes) };
  if (bytes >= 0n) return [{ ...limit, alsoShownAs: [inWholePages(bytes)] }];
  // The memory limit must not exceed the limit of memory plus swap, so the latter is lifted first.
  const swap = { ...limit, file: "memory.memsw.limit_in_bytes", optional: true };
  return [swap, limit].map((setting) => ({ ...setting, alsoShownAs: [MEMORY_UNLIMITED] }));
}

const hugetlb = (size: string, bytes: bigint): readonly Setting[] => [
  { controller: "hugetlb", file: `hugetlb.${size}.limit_in_bytes`, text: String(bytes) },
  { controller: "hugetlb", file: `hugetlb.${size}.rsvd.limit_in_bytes`, text: String(bytes), optional: true },
];

/** Converts values to files of cgroup v2, in the order of writing. */
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { DEFAULT_PERIOD_US, weightOf } from "../../domain/resources/cpu-units.ts";
import { inWholePages, pidsText, type Setting } from "./settings.ts";

export function v2Settings(values: CgroupValues): readonly Setting[] {
  const { cpusetCpus, memoryLimitBytes, cpuShares, pidsMax, hugepageLimitBytes, unified } = values;
  return [
    ...one("cpuset", "cpuset.cpus", cpusetCpus),
    ...(memoryLimitBytes === undefined ? [] : memory(memoryLimitBytes)),
    ...one("cpu", "cpu.weight", cpuShares === undefined ? undefined : String(weightOf(cpuShares))),
    ...one("cpu", "cpu.max", cpuMax(values)),
    ...one("pids", "pids.max", pidsMax === undefined ? undefined : pidsText(pidsMax)),
    ...[...(hugepageLimitBytes ?? [])].flatMap(([size, bytes]) => hugetlb(size, bytes)),
    ...[...(unified ?? [])].flatMap(([file, text]) => one(file.split(".")[0] ?? "", file, text)),
  ];
}

const one = (controller: string, file: string, text: string | undefined): readonly Setting[] =>
  text === undefined ? [] : [{ controller, file, text }];

function cpuMax({ cpuQuotaUs, cpuPeriodUs }: CgroupValues): string | undefined {
  if (cpuQuotaUs === undefined && cpuPeriodUs === undefined) return undefined;
  const quota = cpuQuotaUs !== undefined && cpuQuotaUs > 0 ? String(cpuQuotaUs) : "max";
  return `${quota} ${cpuPeriodUs ?? DEFAULT_PERIOD_US}`;
}

function memory(bytes: bigint): readonly Setting[] {
  const limit = { controller: "memory", file: "memory.max" };
  if (bytes >= 0n) return [{ ...limit, text: String(bytes), alsoShownAs: [inWholePages(bytes)] }];
  return [
    { ...limit, file: "memory.swap.max", text: "max", optional: true },
    { ...limit, text: "max" },
  ];
}

const hugetlb = (size: string, bytes: bigint): readonly Setting[] => [
  { controller: "hugetlb", file: `hugetlb.${size}.max`, text: String(bytes) },
  { controller: "hugetlb", file: `hugetlb.${size}.rsvd.max`, text: String(bytes), optional: true },
];

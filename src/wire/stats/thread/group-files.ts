/** Where a cgroup's files are, by cgroup version, and the interface through which all its stats are read. */
import type { CgroupCpuStats, CgroupIoStats, CgroupMemoryStats } from "../../../domain/stats/stats-reading.ts";
import type { StatsDetail } from "../../../ports/stats.ts";

/** Reads the stats of cgroups of one version. */
export interface GroupReader {
  /** The directory whose subdirectories are the cgroups below, and which lists the processes. */
  directoryOf(group: string): string;
  /** Files whose age is the cgroup's age. */
  creationFiles(group: string): readonly string[];
  cpu(group: string, detail: StatsDetail): CgroupCpuStats | undefined;
  memory(group: string, detail: StatsDetail): CgroupMemoryStats | undefined;
  io(group: string, detail: StatsDetail): CgroupIoStats | undefined;
  threads(group: string): { readonly threads: number; readonly threadsMax: number } | undefined;
  readonly knowsPressure: boolean;
}

export const ROOT = "/";

/** The parent of a cgroup below the root. */
export const parentOf = (group: string): string => group.slice(0, Math.max(1, group.lastIndexOf("/")));

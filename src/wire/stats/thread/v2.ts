/** Stats of v2 cgroups: one hierarchy, whose root has fewer files than the cgroups below it. */

import { statSync } from "node:fs";
import type {
  CgroupCpuStats,
  CgroupIoStats,
  CgroupMemoryStats,
  PressureStats,
} from "../../../domain/stats/stats-reading.ts";
import type { StatsDetail } from "../../../ports/stats.ts";
import { parseUnifiedIo } from "./block-io.ts";
import type { DeviceNames } from "./devices.ts";
import type { GroupReader } from "./group-files.ts";
import { parentOf, ROOT } from "./group-files.ts";
import { readPressure } from "./pressure.ts";
import { KeyedText, numberOf, orAbsent, readNumber, readText } from "./small-files.ts";

const NO_BOUNDS = { shares: 0, periodUs: 0, quotaUs: 0 };

/** Serves one reading, in which cgroups come before those below them. */
export class V2Groups implements GroupReader {
  readonly knowsPressure: boolean;
  readonly #path: string;
  readonly #meminfo: string;
  readonly #devices: DeviceNames;
  readonly #idle = new Set<string>();

  constructor(path: string, meminfo: string, devices: DeviceNames) {
    this.#path = path;
    this.#meminfo = meminfo;
    this.#devices = devices;
    this.knowsPressure = orAbsent(() => statSync(`${path}/cpu.pressure`)) !== undefined;
  }

  directoryOf(group: string): string {
    return `${this.#path}${group}`;
  }

  creationFiles(group: string): readonly string[] {
    return [this.directoryOf(group), `${this.directoryOf(group)}/cgroup.events`];
  }

  cpu(group: string, detail: StatsDetail): CgroupCpuStats | undefined {
    const directory = this.directoryOf(group);
    const stat = KeyedText.read(`${directory}/cpu.stat`);
    if (stat === undefined) return undefined;
    const bounds =
      detail === "everything"
        ? parseCpuBounds(readText(`${directory}/cpu.weight`), readText(`${directory}/cpu.max`))
        : NO_BOUNDS;
    return {
      usageNs: stat.number("usage_usec") * 1000,
      userNs: stat.number("user_usec") * 1000,
      systemNs: stat.number("system_usec") * 1000,
      periods: stat.number("nr_periods"),
      throttledPeriods: stat.number("nr_throttled"),
      throttledNs: stat.number("throttled_usec") * 1000,
      burstPeriods: stat.number("nr_bursts"),
      burstNs: stat.number("burst_usec") * 1000,
      shares: bounds.shares,
      periodUs: bounds.periodUs,
      quotaUs: bounds.quotaUs,
      ...this.#pressure(directory, "cpu", detail),
    };
  }

  memory(group: string, detail: StatsDetail): CgroupMemoryStats | undefined {
    const directory = this.directoryOf(group);
    const stat = KeyedText.read(`${directory}/memory.stat`);
    if (stat === undefined) return undefined;
    const number = (file: string) => readNumber(`${directory}/memory.${file}`);
    // The root cgroup has none of these files.
    const isRoot = group === ROOT;
    const all = detail === "everything" && !isRoot;
    const [rssBytes, cacheBytes] = [stat.number("anon"), stat.number("file")];
    return {
      rssBytes,
      cacheBytes,
      mappedBytes: stat.number("file_mapped"),
      inactiveFileBytes: stat.number("inactive_file"),
      activeFileBytes: stat.number("active_file"),
      pageFaults: stat.number("pgfault"),
      majorPageFaults: stat.number("pgmajfault"),
      // As v1 counts it: anonymous plus cached memory.
      usageBytes: isRoot ? rssBytes + cacheBytes : (number("current") ?? 0),
      swapBytes: isRoot ? swappedBytes(readText(this.#meminfo) ?? "") : (number("swap.current") ?? 0),
      limitBytes: (isRoot ? undefined : number("max")) ?? Infinity,
      swapLimitBytes: isRoot ? Infinity : (number("swap.max") ?? 0),
      peakBytes: all ? (number("peak") ?? 0) : 0,
      reservationBytes: all ? (number("min") ?? 0) : 0,
      oomKills: all ? this.#oomKills(directory) : 0,
      failures: 0,
      kernelBytes: 0,
      ...this.#pressure(directory, "memory", detail),
    };
  }

  io(group: string, detail: StatsDetail): CgroupIoStats | undefined {
    const directory = this.directoryOf(group);
    const pressure = this.#pressure(directory, "io", detail);
    const moved = detail === "everything" ? this.#moved(directory, group) : "";
    return { devices: parseUnifiedIo(moved, this.#devices), ...pressure };
  }

  /** Below a cgroup that did no I/O, no other cgroup did any. */
  #moved(directory: string, group: string): string {
    const text = this.#idle.has(parentOf(group)) ? "" : (readText(`${directory}/io.stat`) ?? "");
    if (text === "" && group !== ROOT) this.#idle.add(group);
    return text;
  }

  /** Without the pids controller: the number of processes. */
  threads(group: string): { readonly threads: number; readonly threadsMax: number } | undefined {
    const directory = this.directoryOf(group);
    const threads = readNumber(`${directory}/pids.current`);
    if (threads !== undefined) {
      const most = readNumber(`${directory}/pids.max`) ?? Infinity;
      return { threads, threadsMax: most === Infinity ? 0 : most };
    }
    const listed = readText(`${directory}/cgroup.procs`);
    return listed === undefined ? undefined : { threads: listed.split("\n").length - 1, threadsMax: 0 };
  }

  /** The cgroup's own kills, if the kernel separates them from those below it. */
  #oomKills(directory: string): number {
    const events = KeyedText.read(`${directory}/memory.events.local`) ?? KeyedText.read(`${directory}/memory.events`);
    return events?.number("oom_kill") ?? 0;
  }

  #pressure(directory: string, what: string, detail: StatsDetail): { readonly pressure?: PressureStats } {
    const pressure =
      detail === "usage" || !this.knowsPressure ? undefined : readPressure(`${directory}/${what}.pressure`);
    return pressure === undefined ? {} : { pressure };
  }
}

/**
 * Converts a weight of 1 to 10000 to shares of 2 to 262144 as cAdvisor does, not by the inverse of the runtimes'
 * formula.
 */
function parseCpuBounds(
  weight: string | undefined,
  max: string | undefined,
): Pick<CgroupCpuStats, "shares" | "periodUs" | "quotaUs"> {
  const weighed = numberOf(weight?.trim() ?? "") ?? 0;
  const [quota = "", period = ""] = max?.trim().split(" ") ?? [];
  const quotaUs = numberOf(quota) ?? 0;
  return {
    shares: weighed < 1 || weighed > 10_000 ? 0 : 2 + Math.floor(((weighed - 1) * 262_142) / 9_999),
    periodUs: numberOf(period) ?? 0,
    quotaUs: quotaUs === Infinity ? 0 : quotaUs,
  };
}

function swappedBytes(meminfo: string): number {
  const kib = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(meminfo)?.[1] ?? 0);
  return (kib("SwapTotal") - kib("SwapFree")) * 1024;
}

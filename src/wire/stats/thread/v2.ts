/** Figures of groups of v2: one hierarchy, whose root has fewer files than the groups below it. */

import { statSync } from "node:fs";
import type { CpuFigures, IoFigures, MemoryFigures, PressureFigures } from "../../../domain/stats/figures.ts";
import type { StatsDetail } from "../../../ports/stats.ts";
import { parseUnifiedIo } from "./block-io.ts";
import type { DeviceNames } from "./devices.ts";
import type { GroupReader } from "./group-files.ts";
import { parentOf, ROOT } from "./group-files.ts";
import { readPressure } from "./pressure.ts";
import { KeyedText, numberOf, orAbsent, readNumber, readText } from "./small-files.ts";

const NO_BOUNDS = { shares: 0, periodUs: 0, quotaUs: 0 };

/** For one reading, in which groups come before those below them. */
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

  folderOf(group: string): string {
    return `${this.#path}${group}`;
  }

  birthFiles(group: string): readonly string[] {
    return [this.folderOf(group), `${this.folderOf(group)}/cgroup.events`];
  }

  cpu(group: string, detail: StatsDetail): CpuFigures | undefined {
    const folder = this.folderOf(group);
    const stat = KeyedText.read(`${folder}/cpu.stat`);
    if (stat === undefined) return undefined;
    const bounds =
      detail === "everything"
        ? parseCpuBounds(readText(`${folder}/cpu.weight`), readText(`${folder}/cpu.max`))
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
      ...this.#pressure(folder, "cpu", detail),
    };
  }

  memory(group: string, detail: StatsDetail): MemoryFigures | undefined {
    const folder = this.folderOf(group);
    const stat = KeyedText.read(`${folder}/memory.stat`);
    if (stat === undefined) return undefined;
    const number = (file: string) => readNumber(`${folder}/memory.${file}`);
    // The root has none of these files.
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
      // As v1 counts it: what is anonymous and what is cached.
      usageBytes: isRoot ? rssBytes + cacheBytes : (number("current") ?? 0),
      swapBytes: isRoot ? swappedBytes(readText(this.#meminfo) ?? "") : (number("swap.current") ?? 0),
      limitBytes: (isRoot ? undefined : number("max")) ?? Infinity,
      swapLimitBytes: isRoot ? Infinity : (number("swap.max") ?? 0),
      peakBytes: all ? (number("peak") ?? 0) : 0,
      reservationBytes: all ? (number("min") ?? 0) : 0,
      oomKills: all ? this.#oomKills(folder) : 0,
      failures: 0,
      kernelBytes: 0,
      ...this.#pressure(folder, "memory", detail),
    };
  }

  io(group: string, detail: StatsDetail): IoFigures | undefined {
    const folder = this.folderOf(group);
    const pressure = this.#pressure(folder, "io", detail);
    const moved = detail === "everything" ? this.#moved(folder, group) : "";
    return { devices: parseUnifiedIo(moved, this.#devices), ...pressure };
  }

  /** Below a group that moved nothing, nothing was moved. */
  #moved(folder: string, group: string): string {
    const text = this.#idle.has(parentOf(group)) ? "" : (readText(`${folder}/io.stat`) ?? "");
    if (text === "" && group !== ROOT) this.#idle.add(group);
    return text;
  }

  /** Without the controller: as many as there are processes. */
  threads(group: string): { readonly threads: number; readonly threadsMax: number } | undefined {
    const folder = this.folderOf(group);
    const threads = readNumber(`${folder}/pids.current`);
    if (threads !== undefined) {
      const most = readNumber(`${folder}/pids.max`) ?? Infinity;
      return { threads, threadsMax: most === Infinity ? 0 : most };
    }
    const listed = readText(`${folder}/cgroup.procs`);
    return listed === undefined ? undefined : { threads: listed.split("\n").length - 1, threadsMax: 0 };
  }

  /** The group's own, where the kernel tells them from those below it. */
  #oomKills(folder: string): number {
    const events = KeyedText.read(`${folder}/memory.events.local`) ?? KeyedText.read(`${folder}/memory.events`);
    return events?.number("oom_kill") ?? 0;
  }

  #pressure(folder: string, what: string, detail: StatsDetail): { readonly pressure?: PressureFigures } {
    const pressure = detail === "usage" || !this.knowsPressure ? undefined : readPressure(`${folder}/${what}.pressure`);
    return pressure === undefined ? {} : { pressure };
  }
}

/** A weight of 1 to 10000 is told as shares of 2 to 262144, the way cAdvisor does it: not the way back that runtimes take. */
function parseCpuBounds(
  weight: string | undefined,
  max: string | undefined,
): Pick<CpuFigures, "shares" | "periodUs" | "quotaUs"> {
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

/** Stats of v1 cgroups: one hierarchy per controller. v1 has no pressure. */
import {
  type CgroupCpuStats,
  type CgroupIoStats,
  type CgroupMemoryStats,
  NO_CPU,
} from "../../../domain/stats/stats-reading.ts";
import type { StatsDetail } from "../../../ports/stats.ts";
import type { Hierarchies } from "../../cgroupfs/hierarchies.ts";
import { parseBlockIo } from "./block-io.ts";
import type { DeviceNames } from "./devices.ts";
import type { GroupReader } from "./group-files.ts";
import { parentOf, ROOT } from "./group-files.ts";
import { KeyedText, readNumber, readText } from "./small-files.ts";

/** Without a limit, v1 shows the largest number of whole pages, which is above this value. */
const UNLIMITED = 2 ** 62;
/** The kernel shows user and system time in hundredths of a second, on every architecture. */
const TICK_NS = 10_000_000;

/** What counts requests: the bfq scheduler, which is not everywhere, and I/O throttling. */
const KINDS = ["bfq", "throttle"] as const;

/** Serves one reading, in which cgroups come before those below them. */
export class V1Groups implements GroupReader {
  readonly knowsPressure = false;
  readonly #mounts: ReadonlyMap<string, string>;
  readonly #devices: DeviceNames;
  readonly #idle = { bfq: new Set<string>(), throttle: new Set<string>() };

  constructor(hierarchies: Extract<Hierarchies, { version: 1 }>, devices: DeviceNames) {
    this.#mounts = new Map(
      hierarchies.mounts.flatMap(({ path, controllers }) => controllers.map((name) => [name, path] as const)),
    );
    this.#devices = devices;
  }

  directoryOf(group: string): string {
    return this.#directory("cpu", group) ?? this.#directory("memory", group) ?? "";
  }

  creationFiles(group: string): readonly string[] {
    return ["cpu", "memory"].flatMap((controller) => {
      const directory = this.#directory(controller, group);
      return directory === undefined ? [] : [directory, `${directory}/cgroup.clone_children`];
    });
  }

  cpu(group: string, detail: StatsDetail): CgroupCpuStats | undefined {
    const directory = this.#directory("cpuacct", group);
    const usageNs = directory === undefined ? undefined : readNumber(`${directory}/cpuacct.usage`);
    if (directory === undefined || usageNs === undefined) return undefined;
    if (detail !== "everything") return { ...NO_CPU, usageNs };
    const modes = KeyedText.read(`${directory}/cpuacct.stat`);
    const bounds = this.#directory("cpu", group) ?? "";
    const quotaUs = Math.max(0, readNumber(`${bounds}/cpu.cfs_quota_us`) ?? 0);
    const stat = quotaUs === 0 ? undefined : KeyedText.read(`${bounds}/cpu.stat`);
    return {
      usageNs,
      userNs: (modes?.number("user") ?? 0) * TICK_NS,
      systemNs: (modes?.number("system") ?? 0) * TICK_NS,
      quotaUs,
      periodUs: readNumber(`${bounds}/cpu.cfs_period_us`) ?? 0,
      shares: readNumber(`${bounds}/cpu.shares`) ?? 0,
      periods: stat?.number("nr_periods") ?? 0,
      throttledPeriods: stat?.number("nr_throttled") ?? 0,
      throttledNs: stat?.number("throttled_time") ?? 0,
      burstPeriods: stat?.number("nr_bursts") ?? 0,
      burstNs: stat?.number("burst_time") ?? 0,
    };
  }

  /** Page faults are those of the cgroup itself, everything else includes the cgroups below: as in the Go kubelet. */
  memory(group: string, detail: StatsDetail): CgroupMemoryStats | undefined {
    const directory = this.#directory("memory", group);
    const stat = directory === undefined ? undefined : KeyedText.read(`${directory}/memory.stat`);
    if (directory === undefined || stat === undefined) return undefined;
    const number = (file: string) => readNumber(`${directory}/memory.${file}`) ?? 0;
    const all = detail === "everything";
    return {
      pageFaults: stat.number("pgfault"),
      majorPageFaults: stat.number("pgmajfault"),
      cacheBytes: stat.number("total_cache"),
      rssBytes: stat.number("total_rss"),
      mappedBytes: stat.number("total_mapped_file"),
      swapBytes: stat.number("total_swap"),
      inactiveFileBytes: stat.number("total_inactive_file"),
      activeFileBytes: stat.number("total_active_file"),
      usageBytes: number("usage_in_bytes"),
      limitBytes: orInfinity(number("limit_in_bytes")),
      swapLimitBytes: orInfinity(number("memsw.limit_in_bytes")),
      peakBytes: all ? number("max_usage_in_bytes") : 0,
      failures: all ? number("failcnt") : 0,
      kernelBytes: all ? number("kmem.usage_in_bytes") : 0,
      reservationBytes: all ? orInfinity(number("soft_limit_in_bytes")) : 0,
      oomKills: all ? (KeyedText.read(`${directory}/memory.oom_control`)?.number("oom_kill") ?? 0) : 0,
    };
  }

  io(group: string, detail: StatsDetail): CgroupIoStats | undefined {
    const directory = this.#directory("blkio", group);
    if (directory === undefined) return undefined;
    if (detail !== "everything") return { devices: [] };
    for (const kind of KINDS) {
      const requests = this.#requests(kind, directory, group);
      if (requests === undefined) continue;
      const bytes = readText(`${directory}/blkio.${kind}.io_service_bytes_recursive`);
      return { devices: parseBlockIo(requests, bytes ?? "", this.#devices) };
    }
    return { devices: [] };
  }

  /**
   * Undefined if there were no requests: then all byte counters are zero, and the cgroups below had no requests either.
   */
  #requests(kind: (typeof KINDS)[number], directory: string, group: string): string | undefined {
    const idle = this.#idle[kind];
    const text = idle.has(parentOf(group)) ? undefined : readText(`${directory}/blkio.${kind}.io_serviced_recursive`);
    if (text?.includes(":") === true) return text;
    idle.add(group);
    return undefined;
  }

  /** The root cgroup's threads are not counted. */
  threads(group: string): { readonly threads: number; readonly threadsMax: number } | undefined {
    const directory = group === ROOT ? undefined : this.#directory("pids", group);
    const threads = directory === undefined ? undefined : readNumber(`${directory}/pids.current`);
    if (directory === undefined || threads === undefined) return undefined;
    const most = readNumber(`${directory}/pids.max`) ?? Infinity;
    return { threads, threadsMax: most === Infinity ? 0 : most };
  }

  #directory(controller: string, group: string): string | undefined {
    const mount = this.#mounts.get(controller);
    return mount === undefined ? undefined : `${mount}${group}`;
  }
}

const orInfinity = (bytes: number): number => (bytes > UNLIMITED ? Infinity : bytes);

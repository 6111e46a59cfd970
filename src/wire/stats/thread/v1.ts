/** Figures of groups of v1: a hierarchy for each controller. It counts no pressure. */
import { type CpuFigures, type IoFigures, type MemoryFigures, NO_CPU } from "../../../domain/stats/figures.ts";
import type { StatsDetail } from "../../../ports/stats.ts";
import type { Hierarchies } from "../../cgroupfs/hierarchies.ts";
import { parseBlockIo } from "./block-io.ts";
import type { DeviceNames } from "./devices.ts";
import type { GroupReader } from "./group-files.ts";
import { parentOf, ROOT } from "./group-files.ts";
import { KeyedText, readNumber, readText } from "./small-files.ts";

/** v1 shows the largest number of whole pages where there is no limit. */
const UNLIMITED = 2 ** 62;
/** The kernel shows user and system time in hundredths of a second, on every architecture. */
const TICK_NS = 10_000_000;

/** Who counts requests: a scheduler that is not everywhere, and the limits of devices. */
const KINDS = ["bfq", "throttle"] as const;

/** For one reading, in which groups come before those below them. */
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

  folderOf(group: string): string {
    return this.#folder("cpu", group) ?? this.#folder("memory", group) ?? "";
  }

  birthFiles(group: string): readonly string[] {
    return ["cpu", "memory"].flatMap((controller) => {
      const folder = this.#folder(controller, group);
      return folder === undefined ? [] : [folder, `${folder}/cgroup.clone_children`];
    });
  }

  cpu(group: string, detail: StatsDetail): CpuFigures | undefined {
    const folder = this.#folder("cpuacct", group);
    const usageNs = folder === undefined ? undefined : readNumber(`${folder}/cpuacct.usage`);
    if (folder === undefined || usageNs === undefined) return undefined;
    if (detail !== "everything") return { ...NO_CPU, usageNs };
    const modes = KeyedText.read(`${folder}/cpuacct.stat`);
    const bounds = this.#folder("cpu", group) ?? "";
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

  /** The faults are those of the group itself, all else with what is below it: so the Go kubelet has it. */
  memory(group: string, detail: StatsDetail): MemoryFigures | undefined {
    const folder = this.#folder("memory", group);
    const stat = folder === undefined ? undefined : KeyedText.read(`${folder}/memory.stat`);
    if (folder === undefined || stat === undefined) return undefined;
    const number = (file: string) => readNumber(`${folder}/memory.${file}`) ?? 0;
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
      oomKills: all ? (KeyedText.read(`${folder}/memory.oom_control`)?.number("oom_kill") ?? 0) : 0,
    };
  }

  io(group: string, detail: StatsDetail): IoFigures | undefined {
    const folder = this.#folder("blkio", group);
    if (folder === undefined) return undefined;
    if (detail !== "everything") return { devices: [] };
    for (const kind of KINDS) {
      const requests = this.#requests(kind, folder, group);
      if (requests === undefined) continue;
      const bytes = readText(`${folder}/blkio.${kind}.io_service_bytes_recursive`);
      return { devices: parseBlockIo(requests, bytes ?? "", this.#devices) };
    }
    return { devices: [] };
  }

  /** Undefined where there was none: without a request there are no bytes, only sums of nothing, and below there was none either. */
  #requests(kind: (typeof KINDS)[number], folder: string, group: string): string | undefined {
    const idle = this.#idle[kind];
    const text = idle.has(parentOf(group)) ? undefined : readText(`${folder}/blkio.${kind}.io_serviced_recursive`);
    if (text?.includes(":") === true) return text;
    idle.add(group);
    return undefined;
  }

  /** The root's processes are not counted. */
  threads(group: string): { readonly threads: number; readonly threadsMax: number } | undefined {
    const folder = group === ROOT ? undefined : this.#folder("pids", group);
    const threads = folder === undefined ? undefined : readNumber(`${folder}/pids.current`);
    if (folder === undefined || threads === undefined) return undefined;
    const most = readNumber(`${folder}/pids.max`) ?? Infinity;
    return { threads, threadsMax: most === Infinity ? 0 : most };
  }

  #folder(controller: string, group: string): string | undefined {
    const mount = this.#mounts.get(controller);
    return mount === undefined ? undefined : `${mount}${group}`;
  }
}

const orInfinity = (bytes: number): number => (bytes > UNLIMITED ? Infinity : bytes);

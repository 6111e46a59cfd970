/** Reads the CPU and memory usage of processes and cgroups from the kernel's counters. */
import { readFile } from "node:fs/promises";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { exists } from "../test/cluster/cache.ts";
import { hierarchies } from "../test/cluster/cgroups.ts";

/** The kernel reports CPU time to user space in hundredths of a second, whatever its internal resolution. */
const TICK_MS = 10;

/** CPU of a process with all its threads, and of its exited children. */
export async function processCpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
  return ((user ?? 0) + (system ?? 0) + (childrenUser ?? 0) + (childrenSystem ?? 0)) * TICK_MS;
}

export interface Memory {
  readonly rssMb: number;
  readonly pssMb: number;
}

export async function processMemory(pid: number): Promise<Memory> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  const megabytes = (name: string) => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1];
    if (kilobytes === undefined) throw new Error(`process ${pid} has no ${name}`);
    return (Number(kilobytes) * 1024) / 1e6;
  };
  return { rssMb: megabytes("Rss"), pssMb: megabytes("Pss") };
}

/** CPU of all processes that ever ran below a cgroup, including exited ones. */
export async function groupCpuMs(path: string): Promise<number> {
  for (const root of await hierarchies()) {
    const [v1, v2] = [join(root, path, "cpuacct.usage"), join(root, path, "cpu.stat")];
    if (await exists(v1)) return Number(await readFile(v1, "utf8")) / 1e6;
    const usage = (await exists(v2)) ? /^usage_usec (\d+)/m.exec(await readFile(v2, "utf8"))?.[1] : undefined;
    if (usage !== undefined) return Number(usage) / 1e3;
  }
  throw new Error(`no hierarchy counts the CPU of ${path}`);
}

export interface Load {
  readonly average: number;
  /** Share of the machine's whole CPU that neither the cluster nor the benchmark used. */
  readonly othersShare: number;
}

/** Starts measuring now; the returned function reports how busy other processes were since. */
export async function watchLoad(clusterGroup: string): Promise<() => Promise<Load>> {
  const before = await reading(clusterGroup);
  return async () => {
    const after = await reading(clusterGroup);
    const wholeMs = (after.wallMs - before.wallMs) * availableParallelism();
    const othersMs = after.busyMs - before.busyMs - (after.oursMs - before.oursMs);
    return { average: loadavg()[0] ?? 0, othersShare: Math.max(0, othersMs / wholeMs) };
  };
}

async function reading(clusterGroup: string) {
  const own = process.cpuUsage();
  const oursMs = (await groupCpuMs(clusterGroup)) + (own.user + own.system) / 1e3;
  return { wallMs: performance.now(), busyMs: await machineBusyMs(), oursMs };
}

async function machineBusyMs(): Promise<number> {
  const first = (await readFile("/proc/stat", "utf8")).split("\n")[0] ?? "";
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0] = first.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + interrupts + soft) * TICK_MS;
}

/** The OwnProcess port, from /proc/self and what Node reports about itself. */
import type { ProcessStats } from "../../domain/metrics/process-families.ts";
import type { OwnProcess, ProcessBegin } from "../../ports/own-process.ts";
import { watchLoopDelay } from "../host/loop-delay.ts";
import { KernelFiles, requiredNumberOf } from "./kernel-files.ts";

/** The kernel shows process times in hundredths of a second, whatever it counts in. */
const TICKS_PER_SECOND = 100;

/** A field of /proc/self/stat, counted from 1 as in proc(5); the process name before it may contain anything. */
function fieldOf(stat: string, number: number): number {
  const value = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[number - 3];
  if (value === undefined || !/^\d+$/.test(value)) throw new Error(`/proc/self/stat has no field ${number}`);
  return Number(value);
}

export function createOwnProcess({ root = "/" }: { readonly root?: string } = {}): OwnProcess {
  const files = new KernelFiles(root);
  const loopDelay = watchLoopDelay();
  return {
    begin: () => readBegin(files),
    facts: async () => ({ ...(await readFacts(files)), loopDelay: loopDelay() }),
  };
}

async function readBegin(files: KernelFiles): Promise<ProcessBegin> {
  const [own, machine] = await Promise.all([files.read("/proc/self/stat"), files.read("/proc/stat")]);
  const bootWallMs = Number(requiredNumberOf(machine, "btime", "/proc/stat")) * 1000;
  return { bootWallMs, processWallMs: bootWallMs + (fieldOf(own, 22) / TICKS_PER_SECOND) * 1000 };
}

async function readFacts(files: KernelFiles): Promise<Omit<ProcessStats, "loopDelay">> {
  const [{ processWallMs }, stat, limits, network, open] = await Promise.all([
    readBegin(files),
    files.read("/proc/self/stat"),
    files.read("/proc/self/limits"),
    files.read("/proc/self/net/dev"),
    files.list("/proc/self/fd", /^\d+$/),
  ]);
  const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
  return {
    startWallMs: processWallMs,
    cpuSeconds: (fieldOf(stat, 14) + fieldOf(stat, 15)) / TICKS_PER_SECOND,
    residentBytes: rss,
    virtualBytes: fieldOf(stat, 23),
    virtualBytesMax: limitOf(limits, "Max address space"),
    openFiles: open.length,
    openFilesMax: limitOf(limits, "Max open files"),
    ...trafficOf(network),
    heapUsedBytes: heapUsed,
    heapTotalBytes: heapTotal,
    externalBytes: external,
  };
}

/** The soft limit, which is the one that takes effect. */
function limitOf(limits: string, name: string): number {
  const line = limits.split("\n").find((each) => each.startsWith(name));
  const soft = line?.slice(name.length).trim().split(/\s+/)[0];
  if (soft === undefined) throw new Error(`/proc/self/limits has no ${JSON.stringify(name)}`);
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}

/** The sum of all interfaces, as in the Go kubelet. */
function trafficOf(network: string): Pick<ProcessStats, "receivedBytes" | "transmittedBytes"> {
  const rows = network.split("\n").flatMap((line) => {
    const fields = /^\s*[^:\s]+:\s*(.*)$/.exec(line)?.[1]?.trim().split(/\s+/);
    return fields === undefined ? [] : [fields];
  });
  const sum = (column: number) => rows.reduce((total, fields) => total + Number(fields[column] ?? 0), 0);
  return { receivedBytes: sum(0), transmittedBytes: sum(8) };
}

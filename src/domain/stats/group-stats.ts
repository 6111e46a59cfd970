/** One cgroup's values in the form of /stats/summary. */
import { apiTime } from "../../base/timestamp.ts";
import {
  type CgroupStats,
  type NetworkInterfaceStats,
  type PressureLine,
  type PressureStats,
  workingSetBytes,
} from "./stats-reading.ts";
import type {
  CpuStats,
  InterfaceStats,
  IoStats,
  MemoryStats,
  NetworkStats,
  PsiLine,
  PsiStats,
  SwapStats,
} from "./summary-shape.ts";

/** What the summary needs in addition to the values. */
export interface GroupStatsOptions {
  /** Undefined until there were two readings. */
  readonly nanoCoresOf: (group: string) => number | undefined;
  /** The feature gate KubeletPSI: with it, zeros are reported even where the kernel does not account for pressure. */
  readonly tellsPressure: boolean;
}

export interface CpuAndMemory {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
}

export function cpuAndMemoryOf(group: CgroupStats, options: GroupStatsOptions): CpuAndMemory {
  const { cpu, memory } = group;
  const time = apiTime(group.readWallMs);
  const nanoCores = options.nanoCoresOf(group.id);
  return {
    ...(cpu === undefined
      ? {}
      : {
          cpu: {
            time,
            ...(nanoCores === undefined ? {} : { usageNanoCores: nanoCores }),
            usageCoreNanoSeconds: cpu.usageNs,
            ...psiOf(cpu.pressure, options),
          },
        }),
    ...(memory === undefined
      ? {}
      : {
          memory: {
            time,
            ...availableOf("availableBytes", memory.limitBytes, workingSetBytes(memory)),
            usageBytes: memory.usageBytes,
            workingSetBytes: workingSetBytes(memory),
            rssBytes: memory.rssBytes,
            pageFaults: memory.pageFaults,
            majorPageFaults: memory.majorPageFaults,
            ...psiOf(memory.pressure, options),
          },
          swap: {
            time,
            ...availableOf("swapAvailableBytes", memory.swapLimitBytes, memory.swapBytes),
            swapUsageBytes: memory.swapBytes,
          },
        }),
  };
}

/**
 * The rest of a limit. The Go kubelet lets it wrap around below zero to a number of twenty digits; Deckhand reports 0.
 */
function availableOf<K extends string>(key: K, limit: number, used: number): Partial<Record<K, number>> {
  return limit === Infinity ? {} : ({ [key]: Math.max(0, limit - used) } as Record<K, number>);
}

export function ioOf({ io, readWallMs }: CgroupStats, options: GroupStatsOptions): { readonly io?: IoStats } {
  if (io === undefined || !options.tellsPressure) return {};
  return { io: { time: apiTime(readWallMs), ...psiOf(io.pressure, options) } };
}

const NO_LINE: PressureLine = { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 };
const psiLine = ({ totalUs, avg10, avg60, avg300 }: PressureLine): PsiLine => ({
  total: totalUs,
  avg10,
  avg60,
  avg300,
});

function psiOf(pressure: PressureStats | undefined, { tellsPressure }: GroupStatsOptions): { readonly psi?: PsiStats } {
  if (!tellsPressure) return {};
  return { psi: { full: psiLine(pressure?.full ?? NO_LINE), some: psiLine(pressure?.some ?? NO_LINE) } };
}

/** The name of a pod's network interface, with every runtime. */
const DEFAULT_INTERFACE = "eth0";

export function networkOf({ network, readWallMs }: CgroupStats): { readonly network?: NetworkStats } {
  if (network === undefined) return {};
  const interfaces = network.map(interfaceStats);
  const own = interfaces.find(({ name }) => name === DEFAULT_INTERFACE) ?? { name: "" };
  return { network: { time: apiTime(readWallMs), ...own, interfaces } };
}

const interfaceStats = ({ name, rxBytes, rxErrors, txBytes, txErrors }: NetworkInterfaceStats): InterfaceStats => ({
  name,
  rxBytes,
  rxErrors,
  txBytes,
  txErrors,
});

/** A cgroup's values as systemd properties. The values must be settled for slices already. */
import { parseCpuSet } from "../../base/cpu-set.ts";
import { sliceOf } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName, CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { DEFAULT_PERIOD_US, slicePerSecondUs, weightOf } from "../../domain/resources/cpu-units.ts";
import type { DbusVariant } from "../dbus/signature.ts";
import type { UnitProperty } from "./manager.ts";

const INFINITY = 2n ** 64n - 1n;

const number = (value: bigint): DbusVariant => ({ signature: "t", value: value < 0n ? INFINITY : value });
const yes: DbusVariant = { signature: "b", value: true };
const no: DbusVariant = { signature: "b", value: false };

/** Properties of a new slice: every controller accounts for it, and it has no default dependencies. */
export const newSliceProperties = (name: CgroupName): readonly UnitProperty[] => [
  ["Description", { signature: "s", value: `Kubernetes pods, ${sliceOf(name)}` }],
  ["Wants", { signature: "as", value: [sliceOf(name.slice(0, -1))] }],
  ["MemoryAccounting", yes],
  ["CPUAccounting", yes],
  ["IOAccounting", yes],
  ["TasksAccounting", yes],
  ["DefaultDependencies", no],
];

export function sliceProperties(values: CgroupValues, version: 1 | 2): readonly UnitProperty[] {
  const { memoryLimitBytes, cpuShares, pidsMax, cpusetCpus, unified } = values;
  return [
    ...(memoryLimitBytes === undefined ? [] : memory(memoryLimitBytes, version)),
    ...(cpuShares === undefined ? [] : [cpuPart(cpuShares, version)]),
    ...cpuQuota(values),
    // systemd does not understand zero.
    ...(pidsMax === undefined ? [] : [["TasksMax", number(pidsMax === 0n ? 1n : pidsMax)] as const]),
    ...(cpusetCpus === undefined ? [] : [["AllowedCPUs", { signature: "ay", value: cpuBits(cpusetCpus) }] as const]),
    ...(version === 2 ? [...(unified ?? [])].flatMap(([file, text]) => unifiedProperty(file, text)) : []),
  ];
}

function memory(bytes: bigint, version: 1 | 2): readonly UnitProperty[] {
  if (version === 1) return [["MemoryLimit", number(bytes)]];
  const limit = ["MemoryMax", number(bytes)] as const;
  return bytes < 0n ? [["MemorySwapMax", number(bytes)], limit] : [limit];
}

const cpuPart = (shares: number, version: 1 | 2): UnitProperty =>
  version === 1 ? ["CPUShares", number(BigInt(shares))] : ["CPUWeight", number(BigInt(weightOf(shares)))];

function cpuQuota({ cpuQuotaUs, cpuPeriodUs }: CgroupValues): readonly UnitProperty[] {
  if (cpuQuotaUs === undefined && cpuPeriodUs === undefined) return [];
  const isLimited = cpuQuotaUs !== undefined && cpuQuotaUs > 0;
  const perSecondUs = isLimited ? slicePerSecondUs(cpuQuotaUs, cpuPeriodUs ?? DEFAULT_PERIOD_US) : INFINITY;
  return [
    ...(cpuPeriodUs === undefined ? [] : [["CPUQuotaPeriodUSec", number(BigInt(cpuPeriodUs))] as const]),
    ["CPUQuotaPerSecUSec", number(perSecondUs)],
  ];
}

const UNIFIED: ReadonlyMap<string, string> = new Map([
  ["memory.high", "MemoryHigh"],
  ["memory.low", "MemoryLow"],
  ["memory.min", "MemoryMin"],
  ["memory.swap.max", "MemorySwapMax"],
]);

function unifiedProperty(file: string, text: string): readonly UnitProperty[] {
  const name = UNIFIED.get(file);
  return name === undefined ? [] : [[name, number(text === "max" ? -1n : BigInt(text))]];
}

/** A bit for each CPU; the first CPU is the lowest bit of the first byte. */
function cpuBits(cpus: string): Uint8Array {
  const numbers = parseCpuSet(cpus);
  if (typeof numbers === "string") throw new Error(`the CPUs of a group are ${JSON.stringify(cpus)}: ${numbers}`);
  const bits = new Uint8Array(Math.floor(Math.max(...numbers) / 8) + 1);
  for (const cpu of numbers) bits[cpu >> 3] = (bits[cpu >> 3] ?? 0) | (1 << (cpu & 7));
  return bits;
}

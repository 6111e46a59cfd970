/**
 * What of the machine is for pods: what schedulers are told (allocatable), and what the kernel holds all pods to together.
 * The second is wider: the hard eviction thresholds are kept free by evicting, before the kernel would have to kill.
 */
import {
  type Quantity,
  quantityMilliValue,
  quantityValue,
  subtractQuantities,
  wholeQuantity,
} from "../../base/quantity.ts";
import type { CgroupValues } from "./cgroup-values.ts";
import { sharesOf } from "./cpu-units.ts";
import { hugepageBytes, hugepageLimits } from "./hugepages.ts";
import { reservedMemoryFiles } from "./memory-qos.ts";
import { HUGEPAGES_PREFIX, type ResourceList } from "./resource-list.ts";

export interface Reservations {
  readonly systemReserved: ResourceList;
  readonly kubeReserved: ResourceList;
}

/** Of `evictionHard`: an amount, or a part of the capacity from 0 to 1. */
export type ThresholdValue =
  | { readonly kind: "quantity"; readonly quantity: Quantity }
  | { readonly kind: "fraction"; readonly fraction: number };

/** By signal ("memory.available"). */
export type HardThresholds = ReadonlyMap<string, ThresholdValue>;

const RESERVING_SIGNALS: ReadonlyMap<string, string> = new Map([
  ["memory", "memory.available"],
  ["ephemeral-storage", "nodefs.available"],
]);

/** The amount a threshold stands for. Parts are kept in single precision upstream, and that shows in the last digits. */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if (value.kind === "quantity") return value.quantity;
  return wholeQuantity(BigInt(Math.trunc(Number(quantityValue(capacity)) * Math.fround(value.fraction))), "BinarySI");
}

/** For the Node's status: without reservations, thresholds and, of memory, every huge page that is set aside. */
export function nodeAllocatable(
  capacity: ResourceList,
  reservations: Reservations,
  thresholds: HardThresholds,
): ResourceList {
  const allocatable = new Map<string, Quantity>();
  for (const [name, total] of capacity) {
    const threshold = thresholds.get(RESERVING_SIGNALS.get(name) ?? "");
    const kept = threshold === undefined ? undefined : thresholdQuantity(threshold, total);
    allocatable.set(name, without(total, [reservedOf(reservations, name), kept].flat()));
  }
  const memory = allocatable.get("memory");
  if (memory !== undefined) {
    const pages = [...capacity].filter(([name]) => name.startsWith(HUGEPAGES_PREFIX)).map(([, quantity]) => quantity);
    allocatable.set("memory", without(memory, pages));
  }
  return allocatable;
}

const reservedOf = ({ systemReserved, kubeReserved }: Reservations, name: string) => [
  systemReserved.get(name),
  kubeReserved.get(name),
];

/** Never below zero. */
function without(total: Quantity, parts: readonly (Quantity | undefined)[]): Quantity {
  const left = parts.filter((part) => part !== undefined).reduce(subtractQuantities, total);
  return left.nanos < 0n ? { ...left, nanos: 0n } : left;
}

export interface NodeCgroupInputs {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  readonly pidsMax: bigint;
  readonly reservations: Reservations;
  /** Off: pods may use the whole machine, reservations or not. */
  readonly enforcePods: boolean;
  /** Such as "0-3". Said even though it is no limit: systemd takes the controller away from whom it does not know to use it. */
  readonly onlineCpus?: string;
}

/** The limits of the group that holds all pods. */
export function kubepodsValues(inputs: NodeCgroupInputs): CgroupValues {
  const left = (name: string, total: Quantity) =>
    inputs.enforcePods ? without(total, reservedOf(inputs.reservations, name)) : total;
  const cpu = left("cpu", wholeQuantity(BigInt(inputs.cpus), "DecimalSI"));
  return {
    cpuShares: sharesOf(quantityMilliValue(cpu)),
    memoryLimitBytes: quantityValue(left("memory", wholeQuantity(inputs.memoryBytes, "BinarySI"))),
    pidsMax: quantityValue(left("pid", wholeQuantity(inputs.pidsMax, "DecimalSI"))),
    ...(inputs.onlineCpus !== undefined && { cpusetCpus: inputs.onlineCpus }),
  };
}

/**
 * The limits of a group for the system's or Kubernetes' own daemons; `compressible` leaves out what cannot be taken back. Huge pages that are not reserved are
 * none for them either, as upstream has it.
 */
export function reservedValues(
  reserved: ResourceList,
  machine: { readonly hugepageSizes: readonly string[]; readonly onlineCpus?: string; readonly keepsMemory?: boolean },
  { compressible }: { readonly compressible: boolean },
): CgroupValues {
  const [cpu, memory, pids] = ["cpu", "memory", "pid"].map((name) => reserved.get(name));
  const keeps = machine.keepsMemory === true && !compressible && memory !== undefined;
  return {
    ...(cpu !== undefined && { cpuShares: sharesOf(quantityMilliValue(cpu)) }),
    ...(!compressible && memory !== undefined && { memoryLimitBytes: quantityValue(memory) }),
    ...(!compressible && pids !== undefined && { pidsMax: quantityValue(pids) }),
    ...(machine.onlineCpus !== undefined && { cpusetCpus: machine.onlineCpus }),
    ...(keeps && { unified: reservedMemoryFiles(quantityValue(memory)) }),
    hugepageLimitBytes: hugepageLimits(machine.hugepageSizes, compressible ? new Map() : hugepageBytes(reserved)),
  };
}

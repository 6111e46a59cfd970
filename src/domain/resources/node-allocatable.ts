/**
 * The part of the machine that is for pods: the allocatable amounts for schedulers, and the limits of the cgroup of all
 * pods. The limits are wider: hard eviction thresholds are kept free by eviction, before the kernel would have to kill.
 */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
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

/** A value of `evictionHard`: an amount, or a share of the capacity from 0 to 1. */
export type ThresholdValue =
  | { readonly kind: "amount"; readonly amount: Quantity }
  | { readonly kind: "share"; readonly share: number };

/** By signal, for example "memory.available". */
export type HardThresholds = ReadonlyMap<string, ThresholdValue>;

const RESERVING_SIGNALS: ReadonlyMap<string, string> = new Map([
  ["memory", "memory.available"],
  ["ephemeral-storage", "nodefs.available"],
]);

/** The amount of a threshold. Upstream keeps shares in single precision, which shows in the last digits. */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if (value.kind === "amount") return value.amount;
  const share = Math.fround(Math.fround(value.share * 100) / 100);
  return wholeQuantity(BigInt(Math.trunc(Number(quantityValue(capacity)) * share)), "BinarySI");
}

/**
 * For the Node's status: capacity without reservations and thresholds and, for memory, without all reserved huge pages.
 */
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

/** Why the reservations and thresholds leave nothing, in upstream's words; undefined if the machine has as much. */
export function reservationFault(
  capacity: ResourceList,
  reservations: Reservations,
  thresholds: HardThresholds,
): string | undefined {
  const faults = [...capacity].flatMap(([name, total]) => {
    const threshold = thresholds.get(RESERVING_SIGNALS.get(name) ?? "");
    const kept = threshold === undefined ? undefined : thresholdQuantity(threshold, total);
    const parts = [...reservedOf(reservations, name), kept].filter((part) => part !== undefined);
    const [first, ...others] = parts;
    if (first === undefined) return [];
    const reserved = others.reduce(addQuantities, first);
    if (compareQuantities(reserved, total) <= 0) return [];
    const amounts = `a reservation of ${formatQuantity(reserved)} but capacity of ${formatQuantity(total)}`;
    return [`Resource "${name}" has ${amounts}. Expected capacity >= reservation.`];
  });
  return faults.length === 0 ? undefined : `invalid Node Allocatable configuration. ${faults.join(" ")}`;
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
  /** Off: pods may use the whole machine, despite reservations. */
  readonly enforcePods: boolean;
  /**
   * For example "0-3". Set although it limits nothing: systemd removes the controller from cgroups that do not seem to
   * use it.
   */
  readonly onlineCpus?: string;
}

/** Memory that is not reserved, whether the reservations are enforced or not. */
export const unreservedMemoryBytes = (memoryBytes: bigint, reservations: Reservations): bigint =>
  quantityValue(without(wholeQuantity(memoryBytes, "BinarySI"), reservedOf(reservations, "memory")));

/** The limits of the cgroup that holds all pods. */
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
 * The limits of a cgroup for system or Kubernetes daemons; `compressible` omits resources that cannot be reclaimed.
 * Huge pages that are not reserved have a limit of 0, as upstream.
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

/**
 * The types that a configuration field can have: TypeScript's type for each, Go's name of it in messages, and the
 * conversion of durations to and from nanoseconds.
 */
import type { Quantity } from "../../base/quantity.ts";

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
  readonly timeAdded: string | undefined;
}

export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, Quantity>>;
}

export interface PriorityGracePeriod {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: bigint;
}

export interface ModuleVerbosity {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface ValueOf {
  readonly bool: boolean;
  readonly int32: number;
  readonly uint32: number;
  readonly int64: bigint;
  readonly float: number;
  readonly string: string;
  /** Nanoseconds. */
  readonly duration: bigint;
  /** Nanoseconds; written as a duration or as a bare number of nanoseconds. */
  readonly durationOrNs: bigint;
  readonly quantity: Quantity;
  readonly strings: readonly string[];
  readonly int32s: readonly number[];
  readonly stringMap: Readonly<Record<string, string>>;
  readonly boolMap: Readonly<Record<string, boolean>>;
  readonly stringListMap: Readonly<Record<string, readonly string[]>>;
  readonly taints: readonly Taint[];
  readonly memoryReservations: readonly MemoryReservation[];
  readonly priorityGracePeriods: readonly PriorityGracePeriod[];
  readonly moduleVerbosities: readonly ModuleVerbosity[];
}

export type TypeName = keyof ValueOf;
export type Value = ValueOf[TypeName];

export const GO_TYPES: Readonly<Record<TypeName, string>> = {
  bool: "bool",
  int32: "int32",
  uint32: "v1.VerbosityLevel",
  int64: "int64",
  float: "float64",
  string: "string",
  duration: "string",
  durationOrNs: "string",
  quantity: "resource.QuantityValue",
  strings: "[]string",
  int32s: "[]int32",
  stringMap: "map[string]string",
  boolMap: "map[string]bool",
  stringListMap: "map[string][]string",
  taints: "[]v1.Taint",
  memoryReservations: "[]v1beta1.MemoryReservation",
  priorityGracePeriods: "[]v1beta1.ShutdownGracePeriodByPodPriority",
  moduleVerbosities: "v1.VModuleConfiguration",
};

/** Whether the value is what Go leaves in an unset field. An empty list or map does not count: it may be intended. */
export function isZero(value: Value | undefined): boolean {
  if (value === undefined || value === false || value === 0 || value === 0n || value === "") return true;
  return typeof value === "object" && "nanos" in value && value.nanos === 0n;
}

export function isEmptyCollection(value: Value | undefined): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && value !== null && !("nanos" in value) && Object.keys(value).length === 0;
}

/** Durations in nanoseconds, the unit of the configuration. */
export const milliseconds = (count: number): bigint => BigInt(count) * 1_000_000n;
export const seconds = (count: number): bigint => milliseconds(count * 1000);
export const minutes = (count: number): bigint => seconds(count * 60);
export const hours = (count: number): bigint => minutes(count * 60);

/** Fractions of a millisecond are kept. */
export const toMs = (durationNs: bigint): number => Number(durationNs) / 1e6;

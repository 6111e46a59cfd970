/**
 * Whether a node is short of memory, disk or processes: what was measured against the hard thresholds, and a condition held for a
 * while after it was last seen, so that it does not come and go.
 */
import { parseQuantity, quantityValue } from "../../base/quantity.ts";
import type { Pressure } from "./conditions.ts";

/** `containerfs.*` is left out: its thresholds are those of the file system it lies on, which is measured already. */
const CONDITION_OF = {
  "memory.available": "memory",
  "allocatableMemory.available": "memory",
  "nodefs.available": "disk",
  "nodefs.inodesFree": "disk",
  "imagefs.available": "disk",
  "imagefs.inodesFree": "disk",
  "pid.available": "pid",
} as const satisfies Readonly<Record<string, keyof Pressure>>;

export type Signal = keyof typeof CONDITION_OF;

export type ThresholdValue =
  | { readonly kind: "amount"; readonly amount: bigint }
  /** Of the capacity, from 0 to 1. */
  | { readonly kind: "share"; readonly share: number };

export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
}

export interface Observation {
  readonly available: bigint;
  readonly capacity: bigint;
}

export type Observations = ReadonlyMap<Signal, Observation>;

export interface PressureState {
  readonly pressure: Pressure;
  /** Monotonic, of the last time each was seen. */
  readonly lastSeenMs: Readonly<Partial<Record<keyof Pressure, number>>>;
}

/** A signal that could not be measured says nothing: what was seen before is held out. */
export function nextPressure(
  previous: PressureState,
  met: readonly Threshold[],
  { nowMs, holdMs }: { readonly nowMs: number; readonly holdMs: number },
): PressureState {
  const seen = Object.fromEntries(met.map(({ signal }) => [CONDITION_OF[signal], nowMs]));
  const lastSeenMs: PressureState["lastSeenMs"] = { ...previous.lastSeenMs, ...seen };
  const held = (kind: keyof Pressure) => {
    const atMs = lastSeenMs[kind];
    return atMs !== undefined && (atMs === nowMs || nowMs - atMs < holdMs);
  };
  return { pressure: { memory: held("memory"), disk: held("disk"), pid: held("pid") }, lastSeenMs };
}

export function thresholdsMet(thresholds: readonly Threshold[], observations: Observations): readonly Threshold[] {
  return thresholds.filter(({ signal, value }) => {
    const observed = observations.get(signal);
    return observed !== undefined && observed.available < amountOf(value, observed.capacity);
  });
}

export function amountOf(value: ThresholdValue, capacity: bigint): bigint {
  if (value.kind === "amount") return value.amount;
  return BigInt(Math.trunc(Number(capacity) * value.share));
}

/** `statements` as in `evictionHard`, which were validated. "0%" and "100%" switch a signal off. */
export function hardThresholds(statements: Readonly<Record<string, string>>): readonly Threshold[] {
  return Object.entries(statements).flatMap(([signal, statement]) => {
    if (!isSignal(signal) || statement === "0%" || statement === "100%") return [];
    return [{ signal, value: thresholdValue(statement) }];
  });
}

/** What pods may use together is held to the same threshold as the whole machine. */
export const withAllocatable = (thresholds: readonly Threshold[]): readonly Threshold[] => [
  ...thresholds,
  ...thresholds
    .filter(({ signal }) => signal === "memory.available")
    .map(({ value }) => ({ signal: "allocatableMemory.available", value }) as const),
];

const isSignal = (signal: string): signal is Signal => Object.hasOwn(CONDITION_OF, signal);

/** In single precision, as the Go kubelet reckons: the thresholds then meet at the same byte. */
function thresholdValue(statement: string): ThresholdValue {
  if (!statement.endsWith("%")) return { kind: "amount", amount: quantityValue(parseQuantity(statement)) };
  const percent = Math.fround(Number(statement.slice(0, -1)));
  return { kind: "share", share: Math.fround(percent / 100) };
}

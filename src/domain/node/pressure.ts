/**
 * Whether a node is short of memory, disk or processes. Measurements are compared with the hard thresholds, and a
 * condition is held for a period after it was last observed, so that it does not flap.
 */
import type { Pressure } from "./conditions.ts";

export const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false };

/** A threshold of the operator's: the minimum of the resource that the signal names. */
export interface Threshold {
  readonly signal: string;
  readonly value:
    | { readonly kind: "amount"; readonly amount: bigint }
    /** A share of the capacity, from 0 to 1. */
    | { readonly kind: "share"; readonly share: number };
}

const CONDITION_OF = {
  "memory.available": "memory",
  "allocatableMemory.available": "memory",
  "nodefs.available": "disk",
  "nodefs.inodesFree": "disk",
  "imagefs.available": "disk",
  "imagefs.inodesFree": "disk",
  "containerfs.available": "disk",
  "containerfs.inodesFree": "disk",
  "pid.available": "pid",
} as const satisfies Readonly<Record<string, keyof Pressure>>;

export type Signal = keyof typeof CONDITION_OF;

export interface Observation {
  readonly available: bigint;
  readonly capacity: bigint;
  readonly atMonotonicMs: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

/**
 * Where images and the writable layers of containers are. "shared": both on nodefs. "imagefs": both on a file system of
 * their own. "split": images on a file system of their own, writable layers on nodefs.
 */
export type FilesystemLayout = "shared" | "imagefs" | "split";

export interface NodeUsage {
  readonly observations: Observations;
  /** Undefined until the file systems were measured. */
  readonly layout: FilesystemLayout | undefined;
}

export const NOTHING_MEASURED: NodeUsage = { observations: new Map(), layout: undefined };

/** How the available memory of the machine is computed: like the Go kubelet, or the kernel's own estimate. */
export type MemorySignal = "working-set" | "mem-available";

const CLOSE_BYTES = 2n ** 30n;
const CLOSE_SHARE = 10n;

/** Less than 1 GiB, or a tenth of the capacity, is left above a threshold of memory. */
export const memoryIsClose = (thresholds: readonly Threshold[], observations: Observations): boolean =>
  MEMORY_SIGNALS.some((signal) => {
    const observation = observations.get(signal);
    if (observation === undefined) return false;
    const { available, capacity } = observation;
    return thresholds
      .filter((threshold) => threshold.signal === "memory.available")
      .map((threshold) => available - amountOf(threshold, capacity))
      .some((leftBytes) => leftBytes < CLOSE_BYTES || leftBytes < capacity / CLOSE_SHARE);
  });

const MEMORY_SIGNALS = ["memory.available", "allocatableMemory.available"] as const satisfies readonly Signal[];

export interface PressureState {
  readonly pressure: Pressure;
  /** The monotonic time at which each condition was last observed. */
  readonly lastSeenMs: Readonly<Partial<Record<keyof Pressure, number>>>;
}

/** A signal that could not be measured changes nothing: what was observed before is held for its period. */
export function nextPressure(
  previous: PressureState,
  met: readonly Signal[],
  { nowMs, holdMs }: { readonly nowMs: number; readonly holdMs: number },
): PressureState {
  const seen = Object.fromEntries(met.map((signal) => [CONDITION_OF[signal], nowMs]));
  const lastSeenMs: PressureState["lastSeenMs"] = { ...previous.lastSeenMs, ...seen };
  const held = (kind: keyof Pressure) => {
    const atMs = lastSeenMs[kind];
    return atMs !== undefined && (atMs === nowMs || nowMs - atMs < holdMs);
  };
  return { pressure: { memory: held("memory"), disk: held("disk"), pid: held("pid") }, lastSeenMs };
}

/**
 * The signals that are below their thresholds. The memory of all pods together has the machine's threshold of memory.
 */
export function thresholdsMet(thresholds: readonly Threshold[], observations: Observations): readonly Signal[] {
  return [...observations].flatMap(([signal, { available, capacity }]) => {
    const name = signal === "allocatableMemory.available" ? "memory.available" : signal;
    const wanted = thresholds.filter((threshold) => threshold.signal === name);
    return wanted.some((threshold) => available < amountOf(threshold, capacity)) ? [signal] : [];
  });
}

/**
 * The signals that thresholds need. If the memory of all pods together is limited, what is left of that limit is a
 * signal, too.
 */
export function signalsOf(thresholds: readonly Threshold[], enforcesPods: boolean): ReadonlySet<Signal> {
  const signals = new Set<Signal>();
  for (const { signal } of thresholds) if (isSignal(signal)) signals.add(signal);
  if (enforcesPods && signals.has("memory.available")) signals.add("allocatableMemory.available");
  return signals;
}

const isSignal = (name: string): name is Signal => Object.hasOwn(CONDITION_OF, name);

/** Computes a share in single precision, as the Go kubelet does, so that both reach a threshold at the same byte. */
const amountOf = ({ value }: Threshold, capacity: bigint): bigint =>
  value.kind === "amount" ? value.amount : BigInt(Math.trunc(Number(capacity) * Math.fround(value.share)));

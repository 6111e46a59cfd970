/**
 * What a node can be short of: the signals that are measured, and the condition that each signal sets. A condition is
 * held for a period after it was last observed, so that it does not flap.
 */
import type { Pressure } from "./conditions.ts";

export const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false };

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

export const isSignal = (name: string): name is Signal => Object.hasOwn(CONDITION_OF, name);

export interface Observation {
  readonly available: bigint;
  readonly capacity: bigint;
  /** The monotonic time of the measurement. */
  readonly atMonotonicMs: number;
}

/** A signal that could not be measured has no entry. */
export type Observations = ReadonlyMap<Signal, Observation>;

/**
 * Where images and the writable layers of containers are. "shared": both on nodefs. "imagefs": both on a file system of
 * their own. "split": on two file systems, the layers usually on nodefs.
 */
export type FilesystemLayout = "shared" | "imagefs" | "split";

export interface NodeUsage {
  readonly observations: Observations;
  /** Undefined until the file systems were measured. */
  readonly layout: FilesystemLayout | undefined;
}

export const NOTHING_MEASURED: NodeUsage = { observations: new Map(), layout: undefined };

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

/**
 * Whether a node is short of memory, disk or processes: what was measured against the hard thresholds, and a condition held for a
 * while after it was last seen, so that it does not come and go.
 */
import type { Pressure } from "./conditions.ts";

export const NO_PRESSURE: Pressure = { memory: false, disk: false, pid: false };

/** As the operator asked for: at least so much of what the signal names. */
export interface Threshold {
  readonly signal: string;
  readonly value:
    | { readonly kind: "amount"; readonly amount: bigint }
    /** Of the capacity, from 0 to 1. */
    | { readonly kind: "share"; readonly share: number };
}

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

/** The signals of which there is too little. What pods may use together is held to the machine's threshold of memory. */
export function thresholdsMet(thresholds: readonly Threshold[], observations: Observations): readonly Signal[] {
  return [...observations].flatMap(([signal, { available, capacity }]) => {
    const name = signal === "allocatableMemory.available" ? "memory.available" : signal;
    const wanted = thresholds.filter((threshold) => threshold.signal === name);
    return wanted.some((threshold) => available < amountOf(threshold, capacity)) ? [signal] : [];
  });
}

/** The signals that thresholds need. Where pods as a whole are held to a limit of memory, what is left of that is one, too. */
export function signalsOf(thresholds: readonly Threshold[], enforcesPods: boolean): ReadonlySet<Signal> {
  const signals = new Set<Signal>();
  for (const { signal } of thresholds) if (isSignal(signal)) signals.add(signal);
  if (enforcesPods && signals.has("memory.available")) signals.add("allocatableMemory.available");
  return signals;
}

const isSignal = (name: string): name is Signal => Object.hasOwn(CONDITION_OF, name);

/** A share in single precision, as the Go kubelet reckons: the thresholds then meet at the same byte. */
const amountOf = ({ value }: Threshold, capacity: bigint): bigint =>
  value.kind === "amount" ? value.amount : BigInt(Math.trunc(Number(capacity) * Math.fround(value.share)));

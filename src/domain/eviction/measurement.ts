/** How a signal was measured and what it was compared with, for the journal. Amounts are in the units of the signal. */
import { quantityValue } from "../../base/quantity.ts";
import type { Observations, Signal } from "../node/pressure.ts";
import type { MemorySignal } from "./memory-signal.ts";
import { type EvictionThreshold, quantityOf } from "./thresholds.ts";

export interface Measurement {
  readonly available: string;
  readonly capacity: string;
  readonly threshold: string;
  /** How `available` was computed. */
  readonly computed: string;
}

/** Undefined: the signal was not measured. */
export function measurementOf(
  threshold: EvictionThreshold,
  observations: Observations,
  memorySignal: MemorySignal,
): Measurement | undefined {
  const observation = observations.get(threshold.signal);
  if (observation === undefined) return undefined;
  return {
    available: String(observation.available),
    capacity: String(observation.capacity),
    threshold: String(quantityValue(quantityOf(threshold, observation))),
    computed: computationOf(threshold.signal, memorySignal),
  };
}

function computationOf(signal: Signal, memorySignal: MemorySignal): string {
  switch (signal) {
    case "memory.available":
      return memorySignal === "working-set"
        ? "the machine's memory minus the working set of the root cgroup"
        : "MemAvailable of /proc/meminfo";
    case "allocatableMemory.available":
      return "the memory limit of the kubepods cgroup minus its working set";
    case "pid.available":
      return "the maximum number of process IDs minus the number of tasks";
    case "nodefs.available":
    case "nodefs.inodesFree":
      return "statfs of the root directory";
    case "imagefs.available":
    case "imagefs.inodesFree":
      return "statfs of the image store";
    case "containerfs.available":
    case "containerfs.inodesFree":
      return "statfs of the file system of the writable layers";
  }
}

/**
 * Measures every ten seconds how much memory, disk and PIDs the node has left, as far as a threshold needs it.
 * Publishes the result in the cell `nodeUsage`. A signal that could not be measured is logged and omitted.
 */
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { pause } from "../../concurrency/sleep.ts";
import type { Observation, Observations, Signal } from "../../domain/node/pressure.ts";
import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";
import type { FilesystemFacts, Machine } from "../../ports/machine.ts";

const MEASURE_EVERY_MS = 10_000;
/** The directory of the image store changes only when the runtime restarts, and reading it costs a call. */
const IMAGE_DIRECTORY_EVERY_MS = 600_000;

export interface NodeUsageParts {
  readonly machine: Pick<Machine, "facts" | "memoryWorkingSetBytes" | "processCount" | "filesystem">;
  readonly images: Pick<Images, "imageFilesystems">;
  /** Undefined until the runtime has reported its cgroup driver. */
  readonly cgroups: Latest<{ readonly pods: Pick<Cgroups, "memory"> } | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeUsage: LatestCell<Observations>;
  readonly rootDirectory: string;
  readonly signals: ReadonlySet<Signal>;
  readonly heartbeat: Pick<Heartbeat, "beat">;
}

export async function runNodeUsage(parts: NodeUsageParts, shutdown: AbortSignal): Promise<void> {
  const { clock, nodeUsage, heartbeat } = parts;
  const imageDirectory = new ImageDirectory(parts);
  while (!shutdown.aborted) {
    heartbeat.beat();
    const observations = await measure(parts, imageDirectory, shutdown);
    if (shutdown.aborted) return;
    nodeUsage.set(observations);
    await pause(clock, MEASURE_EVERY_MS, shutdown);
  }
}

/** Measures several signals at once, in order; a shorter result omits the last ones. */
type Measurement = readonly [signals: readonly Signal[], read: () => Promise<readonly Amounts[]>];
type Amounts = Pick<Observation, "available" | "capacity">;

async function measure(
  parts: NodeUsageParts,
  imageDirectory: ImageDirectory,
  shutdown: AbortSignal,
): Promise<Observations> {
  const observations = new Map<Signal, Observation>();
  for (const [signals, read] of measurements(parts, imageDirectory, shutdown)) {
    if (!signals.some((signal) => parts.signals.has(signal))) continue;
    try {
      const amounts = await read();
      const atMonotonicMs = parts.clock.monotonicMs();
      for (const [index, amount] of amounts.entries()) {
        const signal = signals[index];
        if (signal !== undefined) observations.set(signal, { ...amount, atMonotonicMs });
      }
    } catch (error) {
      if (!shutdown.aborted)
        parts.log.error("Failed to measure pressure signals", error, { signals: signals.join(",") });
    }
  }
  return observations;
}

const measurements = (
  { machine, cgroups, rootDirectory }: NodeUsageParts,
  imageDirectory: ImageDirectory,
  shutdown: AbortSignal,
): readonly Measurement[] => [
  [
    ["memory.available"],
    async () => {
      const { memoryBytes } = await machine.facts();
      return [leftOf(memoryBytes, await machine.memoryWorkingSetBytes())];
    },
  ],
  [
    ["allocatableMemory.available"],
    async () => {
      const memory = await cgroups.value?.pods.memory(KUBEPODS);
      return memory?.limitBytes === undefined ? [] : [leftOf(memory.limitBytes, memory.workingSetBytes)];
    },
  ],
  [
    ["pid.available"],
    async () => {
      const { pidsMax } = await machine.facts();
      return [{ available: BigInt(pidsMax - (await machine.processCount())), capacity: BigInt(pidsMax) }];
    },
  ],
  [
    ["nodefs.available", "nodefs.inodesFree"],
    async () => filesystemObservations(await machine.filesystem(rootDirectory)),
  ],
  [
    ["imagefs.available", "imagefs.inodesFree"],
    async () => {
      const directory = await imageDirectory.read(shutdown);
      return directory === undefined ? [] : filesystemObservations(await machine.filesystem(directory));
    },
  ],
];

const leftOf = (capacity: bigint, used: bigint): Amounts => ({
  available: used < capacity ? capacity - used : 0n,
  capacity,
});

/** A filesystem without a fixed number of inodes, such as btrfs, cannot run out of them. */
const filesystemObservations = (facts: FilesystemFacts): readonly Amounts[] => [
  { available: facts.availableBytes, capacity: facts.capacityBytes },
  ...(facts.inodes === 0n ? [] : [{ available: facts.inodesFree, capacity: facts.inodes }]),
];

/** The runtime's image directory: queried rarely; the last result is used while the runtime does not respond. */
class ImageDirectory {
  readonly #parts: NodeUsageParts;
  #path: string | undefined;
  #askedMs: number | undefined;

  constructor(parts: NodeUsageParts) {
    this.#parts = parts;
  }

  async read(shutdown: AbortSignal): Promise<string | undefined> {
    const { images, clock, log } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (this.#path !== undefined && nowMs - (this.#askedMs ?? 0) < IMAGE_DIRECTORY_EVERY_MS) return this.#path;
    try {
      this.#path = (await images.imageFilesystems(shutdown)).images[0]?.mountpoint ?? this.#path;
      this.#askedMs = nowMs;
    } catch (error) {
      log.info(2, "The location of the image store is not known yet", { error });
    }
    return this.#path;
  }
}

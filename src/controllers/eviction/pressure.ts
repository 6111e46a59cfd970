/**
 * Measures every ten seconds how full the machine is and says in the cell `pressure` what the node is short of. What cannot be
 * measured is reported and says nothing about the rest.
 */
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { Watch } from "../../concurrency/turns.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import {
  NO_PRESSURE,
  nextPressure,
  type Observation,
  type PressureState,
  type Signal,
  type Threshold,
  thresholdsMet,
} from "../../domain/node/pressure.ts";
import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";
import type { FilesystemFacts, Machine } from "../../ports/machine.ts";

const MEASURE_EVERY_MS = 10_000;

export interface PressureOptions {
  readonly rootFolder: string;
  /** Where the image store lies may change only with a restart of the runtime, and costs a call. */
  readonly imageFolderEveryMs: number;
  readonly thresholds: readonly Threshold[];
  /** Pods as a whole are held to what is allocatable: then they are watched for it, too. */
  readonly enforcesPods: boolean;
  /** A condition stays for so long after it was last seen. */
  readonly holdMs: number;
}

export interface PressureParts {
  readonly machine: Pick<Machine, "facts" | "memoryWorkingSetBytes" | "processCount" | "filesystem">;
  readonly images: Pick<Images, "imageFilesystems">;
  /** Undefined until the runtime has said which driver it uses. */
  readonly cgroups: Latest<{ readonly pods: Pick<Cgroups, "memory"> } | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly pressure: LatestCell<Pressure>;
  readonly options: PressureOptions;
  readonly watch: Pick<Watch, "turned">;
}

export async function runPressure(parts: PressureParts, shutdown: AbortSignal): Promise<void> {
  const { clock, options, pressure, log } = parts;
  const imageFolder = new ImageFolder(parts);
  let state: PressureState = { pressure: NO_PRESSURE, lastSeenMs: {} };
  while (!shutdown.aborted) {
    parts.watch.turned();
    const observations = await measure(parts, imageFolder, shutdown);
    if (shutdown.aborted) return;
    const met = thresholdsMet(options.thresholds, observations);
    state = nextPressure(state, met, { nowMs: clock.monotonicMs(), holdMs: options.holdMs });
    if (!samePressure(state.pressure, pressure.value)) {
      log.info(0, "The pressure on the node changed", {
        pressure: state.pressure,
        met,
      });
      pressure.set(state.pressure);
    }
    await sleep(clock, MEASURE_EVERY_MS, shutdown).catch(() => {}); // Rejects only when the signal aborts.
  }
}

const samePressure = (a: Pressure, b: Pressure) => a.memory === b.memory && a.disk === b.disk && a.pid === b.pid;

async function measure(
  { machine, cgroups, options, log }: PressureParts,
  imageFolder: ImageFolder,
  shutdown: AbortSignal,
): Promise<ReadonlyMap<Signal, Observation>> {
  const wanted = new Set(options.thresholds.map(({ signal }) => signal));
  if (options.enforcesPods && wanted.has("memory.available")) wanted.add("allocatableMemory.available");
  const observations = new Map<Signal, Observation>();
  const attempt = async (signals: readonly Signal[], read: () => Promise<readonly Observation[]>) => {
    if (!signals.some((signal) => wanted.has(signal))) return;
    try {
      for (const [index, observation] of (await read()).entries()) {
        const signal = signals[index];
        if (signal !== undefined) observations.set(signal, observation);
      }
    } catch (error) {
      if (!shutdown.aborted) log.error("Measuring failed", error, { signals: signals.join(",") });
    }
  };
  await attempt(["memory.available"], async () => {
    const { memoryBytes } = await machine.facts();
    const available = memoryBytes - (await machine.memoryWorkingSetBytes());
    return [{ available: available > 0n ? available : 0n, capacity: memoryBytes }];
  });
  await attempt(["allocatableMemory.available"], async () => {
    const memory = await cgroups.value?.pods.memory(KUBEPODS);
    if (memory?.limitBytes === undefined) return [];
    const available = memory.limitBytes - memory.workingSetBytes;
    return [{ available: available > 0n ? available : 0n, capacity: memory.limitBytes }];
  });
  await attempt(["pid.available"], async () => {
    const { pidsMax } = await machine.facts();
    return [{ available: BigInt(pidsMax - (await machine.processCount())), capacity: BigInt(pidsMax) }];
  });
  await attempt(["nodefs.available", "nodefs.inodesFree"], async () =>
    filesystemObservations(await machine.filesystem(options.rootFolder)),
  );
  await attempt(["imagefs.available", "imagefs.inodesFree"], async () => {
    const folder = await imageFolder.read(shutdown);
    return folder === undefined ? [] : filesystemObservations(await machine.filesystem(folder));
  });
  return observations;
}

/** A file system without a fixed number of inodes, such as btrfs, cannot run out of them. */
const filesystemObservations = (facts: FilesystemFacts): readonly Observation[] => [
  { available: facts.availableBytes, capacity: facts.capacityBytes },
  ...(facts.inodes === 0n ? [] : [{ available: facts.inodesFree, capacity: facts.inodes }]),
];

/** Where the runtime keeps images: asked rarely, and what it said last while it is away. */
class ImageFolder {
  readonly #parts: PressureParts;
  #folder: string | undefined;
  #askedMs: number | undefined;

  constructor(parts: PressureParts) {
    this.#parts = parts;
  }

  async read(shutdown: AbortSignal): Promise<string | undefined> {
    const { images, clock, log, options } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (this.#folder !== undefined && nowMs - (this.#askedMs ?? 0) < options.imageFolderEveryMs) return this.#folder;
    try {
      this.#folder = (await images.imageFilesystems(shutdown)).images[0]?.mountpoint ?? this.#folder;
      this.#askedMs = nowMs;
    } catch (error) {
      log.info(2, "Where the image store lies is not known yet", { error });
    }
    return this.#folder;
  }
}

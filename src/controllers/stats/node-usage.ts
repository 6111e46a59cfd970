/**
 * Measures how much memory, disk and PIDs the node has left, as far as a threshold needs it, and publishes the result in
 * the cell `nodeUsage`. Memory is measured every second, and more often while little is left above a threshold, because
 * it runs out fast, and at once when the kernel reports that pods met a limit of memory; everything else every ten
 * seconds, or when the runtime has answered. After space was reclaimed, everything is measured at once. A signal that
 * could not be measured is logged and omitted.
 */
import { type Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import type { MemorySignal } from "../../domain/eviction/memory-signal.ts";
import { type EvictionThreshold, memoryIsClose } from "../../domain/eviction/thresholds.ts";
import type { FilesystemLayout, NodeUsage, Observation, Observations, Signal } from "../../domain/node/pressure.ts";
import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Images } from "../../ports/images.ts";
import type { Log } from "../../ports/log.ts";
import type { FilesystemFacts, Machine } from "../../ports/machine.ts";
import { countMemoryEvents } from "./memory-events.ts";

const MEASURE_EVERY_MS = 10_000;
const MEMORY_EVERY_MS = 1000;
const CLOSE_MEMORY_EVERY_MS = 250;
/** The directories of the runtime's storage change only when the runtime restarts, and reading them costs a call. */
const STORAGE_EVERY_MS = 600_000;

export interface NodeUsageParts {
  readonly machine: Pick<
    Machine,
    "facts" | "memoryWorkingSetBytes" | "memoryAvailableBytes" | "processCount" | "filesystem"
  >;
  readonly images: Pick<Images, "imageFilesystems">;
  /** Undefined until the runtime has reported its cgroup driver. */
  readonly cgroups: Latest<{ readonly pods: Pick<Cgroups, "memory" | "memoryEvents"> } | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeUsage: LatestCell<NodeUsage>;
  /** Cells that change when space was reclaimed. */
  readonly reclaimed: readonly Latest<unknown>[];
  readonly rootDirectory: string;
  readonly signals: ReadonlySet<Signal>;
  /** Limits of local storage are enforced, which the layout of the file systems decides upon. */
  readonly needsLayout: boolean;
  readonly thresholds: readonly EvictionThreshold[];
  readonly memorySignal: MemorySignal;
  readonly heartbeat: Pick<Heartbeat, "beat">;
}

export async function runNodeUsage(parts: NodeUsageParts, shutdown: AbortSignal): Promise<void> {
  parts.heartbeat.beat();
  const state: UsageState = { observed: new Map(), devices: new Map(), finished: new Set() };
  const wanted = (readings: readonly Reading[]) => readings.filter((reading) => isWanted(reading, parts));
  const memoryEvents = new LatestCell(0);
  const memory = wanted(memoryReadings(parts));
  const groups: readonly ReadingGroup[] = [
    { readings: memory, wakes: [memoryEvents, ...parts.reclaimed] },
    { readings: wanted(otherReadings(parts, state.devices)), wakes: parts.reclaimed },
    { readings: wanted(imageReadings(parts, state.devices, shutdown)), wakes: parts.reclaimed },
  ].filter(({ readings }) => readings.length > 0);
  // A node without thresholds has nothing to measure, and its loop is alive all the same.
  const loops = groups.length === 0 ? [{ readings: [], wakes: [] }] : groups;
  await Promise.all([
    ...(memory.length > 0 ? [countMemoryEvents(parts, memoryEvents, shutdown)] : []),
    ...loops.map((group) => measureRepeatedly(group, { ...state, count: loops.length }, parts, shutdown)),
  ]);
}

interface ReadingGroup {
  readonly readings: readonly Reading[];
  /** Cells whose change is measured at once. */
  readonly wakes: readonly Latest<unknown>[];
}

interface UsageState {
  readonly observed: Map<Signal, Observation>;
  readonly devices: Map<FilesystemRole, string>;
  /** The groups of readings that have finished a round since the last heartbeat. */
  readonly finished: Set<ReadingGroup>;
}

/** A group waits for none of the others: a runtime that does not answer delays no measurement of memory. */
async function measureRepeatedly(
  group: ReadingGroup,
  { observed, devices, finished, count }: UsageState & { readonly count: number },
  parts: NodeUsageParts,
  shutdown: AbortSignal,
): Promise<void> {
  const { clock, nodeUsage, heartbeat } = parts;
  while (!shutdown.aborted) {
    const seen = group.wakes.map((cell) => ({ cell, seen: cell.version }));
    const waitsMs = [MEASURE_EVERY_MS];
    for (const reading of group.readings) {
      await measure(reading, observed, parts, shutdown);
      waitsMs.push(reading.everyMs(observed));
    }
    if (shutdown.aborted) return;
    nodeUsage.set({ observations: new Map(observed), layout: layoutOf(devices) });
    finished.add(group);
    if (finished.size === count) {
      finished.clear();
      heartbeat.beat();
    }
    await waitForChange(clock, seen, Math.min(...waitsMs), shutdown).catch((error: unknown) => {
      if (!shutdown.aborted) throw error;
    });
  }
}

type FilesystemRole = "root" | "images" | "containers";

interface Reading {
  readonly signals: readonly Signal[];
  readonly everyMs: (observed: Observations) => number;
  /** One amount for each signal, in their order; a shorter list omits the last signals. */
  readonly read: () => Promise<readonly (Amount | undefined)[]>;
}

type Amount = Omit<Observation, "atMonotonicMs">;

/** File systems are measured for the layout as well, which decides how pods are ranked and limited. */
const isWanted = ({ signals }: Reading, { signals: needed, needsLayout }: NodeUsageParts): boolean =>
  signals.some(
    (signal) => needed.has(signal) || (isOfFilesystem(signal) && (needsLayout || [...needed].some(isOfFilesystem))),
  );

const isOfFilesystem = (signal: Signal): boolean => /^(?:node|image|container)fs\./.test(signal);

async function measure(
  { signals, read }: Reading,
  observed: Map<Signal, Observation>,
  { clock, log, signals: needed }: NodeUsageParts,
  shutdown: AbortSignal,
): Promise<void> {
  let amounts: readonly (Amount | undefined)[] = [];
  try {
    amounts = await read();
  } catch (error) {
    if (!shutdown.aborted) log.error("Failed to measure pressure signals", error, { signals: signals.join(",") });
  }
  // All at once, because another group may publish at any await.
  for (const [index, signal] of signals.entries()) {
    const amount = amounts[index];
    if (amount !== undefined && needed.has(signal))
      observed.set(signal, { ...amount, atMonotonicMs: clock.monotonicMs() });
    else observed.delete(signal);
  }
}

function otherReadings(parts: NodeUsageParts, devices: Map<FilesystemRole, string>): readonly Reading[] {
  const { machine, rootDirectory } = parts;
  return [
    {
      signals: ["pid.available"],
      everyMs: slowly,
      read: async () => {
        const { pidsMax } = await machine.facts();
        return [{ available: BigInt(pidsMax - (await machine.processCount())), capacity: BigInt(pidsMax) }];
      },
    },
    {
      signals: ["nodefs.available", "nodefs.inodesFree"],
      everyMs: slowly,
      read: () => filesystem("root", rootDirectory, parts, devices),
    },
  ];
}

/** A group of its own: only it waits for the runtime. */
function imageReadings(
  parts: NodeUsageParts,
  devices: Map<FilesystemRole, string>,
  shutdown: AbortSignal,
): readonly Reading[] {
  const storage = new StorageDirectories(parts);
  return [
    {
      signals: ["imagefs.available", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree"],
      everyMs: slowly,
      // One call to the runtime, which may take its whole timeout.
      read: async () => {
        const { images, containers } = await storage.read(shutdown);
        const isSplit = containers !== images;
        if (!isSplit) devices.delete("containers");
        // Before the images: a layout that knows only them takes a split one for "imagefs".
        const ofContainers = isSplit ? await filesystem("containers", containers, parts, devices) : [];
        const [available, inodesFree] = await filesystem("images", images, parts, devices);
        return [available, inodesFree, ...ofContainers];
      },
    },
  ];
}

const slowly = () => MEASURE_EVERY_MS;

async function filesystem(
  role: FilesystemRole,
  path: string | undefined,
  { machine }: NodeUsageParts,
  devices: Map<FilesystemRole, string>,
): Promise<readonly Amount[]> {
  if (path === undefined) return [];
  const facts = await machine.filesystem(path);
  devices.set(role, facts.device);
  return filesystemAmounts(facts);
}

function memoryReadings({ machine, cgroups, clock, memorySignal, thresholds }: NodeUsageParts): readonly Reading[] {
  const everyMs = (observed: Observations) =>
    memoryIsClose(thresholds, observed) ? CLOSE_MEMORY_EVERY_MS : MEMORY_EVERY_MS;
  let capacity: { readonly bytes: bigint; readonly atMonotonicMs: number } | undefined;
  const capacityBytes = async (): Promise<bigint> => {
    const nowMs = clock.monotonicMs();
    if (capacity === undefined || nowMs - capacity.atMonotonicMs >= MEASURE_EVERY_MS)
      capacity = { bytes: (await machine.facts()).memoryBytes, atMonotonicMs: nowMs };
    return capacity.bytes;
  };
  return [
    {
      signals: ["memory.available"],
      everyMs,
      read: async () => {
        const bytes = await capacityBytes();
        if (memorySignal === "mem-available")
          return [{ available: await machine.memoryAvailableBytes(), capacity: bytes }];
        return [leftOf(bytes, await machine.memoryWorkingSetBytes())];
      },
    },
    {
      signals: ["allocatableMemory.available"],
      everyMs,
      read: async () => {
        const memory = await cgroups.value?.pods.memory(KUBEPODS);
        return memory?.limitBytes === undefined ? [] : [leftOf(memory.limitBytes, memory.workingSetBytes)];
      },
    },
  ];
}

const leftOf = (capacity: bigint, used: bigint): Amount => ({
  available: used < capacity ? capacity - used : 0n,
  capacity,
});

/** A filesystem without a fixed number of inodes, such as btrfs, cannot run out of them. */
const filesystemAmounts = (facts: FilesystemFacts): readonly Amount[] => [
  { available: facts.availableBytes, capacity: facts.capacityBytes },
  ...(facts.inodes === 0n ? [] : [{ available: facts.inodesFree, capacity: facts.inodes }]),
];

/** Undefined until the root directory and the image store were measured. */
function layoutOf(devices: ReadonlyMap<FilesystemRole, string>): FilesystemLayout | undefined {
  const [root, images] = [devices.get("root"), devices.get("images")];
  if (root === undefined || images === undefined) return undefined;
  if ((devices.get("containers") ?? images) !== images) return "split";
  return images === root ? "shared" : "imagefs";
}

interface Directories {
  readonly images: string | undefined;
  /** Writable layers. A runtime that does not report them has them beside the images. */
  readonly containers: string | undefined;
}

/** The runtime's storage: queried rarely; the last result is used while the runtime does not respond. */
class StorageDirectories {
  readonly #parts: NodeUsageParts;
  #known: Directories = { images: undefined, containers: undefined };
  #askedMs: number | undefined;

  constructor(parts: NodeUsageParts) {
    this.#parts = parts;
  }

  async read(shutdown: AbortSignal): Promise<Directories> {
    const { images, clock, log } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (this.#known.images !== undefined && nowMs - (this.#askedMs ?? 0) < STORAGE_EVERY_MS) return this.#known;
    try {
      const found = await images.imageFilesystems(shutdown);
      const path = found.images[0]?.mountpoint ?? this.#known.images;
      this.#known = { images: path, containers: found.containers[0]?.mountpoint ?? path };
    } catch (error) {
      log.info(2, "The location of the image store is not known yet", { error });
    }
    this.#askedMs = nowMs;
    return this.#known;
  }
}

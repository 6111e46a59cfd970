/**
 * Reads the usage of the machine's cgroups and computes the rates. Only this module calls the Stats port, at most once
 * per second. A rate needs two readings: the first is the previous request's. If that is missing or too old, a second
 * reading follows after `SECOND_LOOK_MS`.
 */

import { CachedReading } from "../../concurrency/cached-reading.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { ReadonlyTable } from "../../concurrency/latest-table.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { CgroupName } from "../../domain/resources/cgroup-values.ts";
import { type StatsPod, statsPods } from "../../domain/stats/stats-pods.ts";
import type { StatsReading } from "../../domain/stats/stats-reading.ts";
import { type StatsDirectories, type SystemGroups, summaryFiles } from "../../domain/stats/summary.ts";
import { type CpuSamples, lacksRates, nextSamples } from "../../domain/stats/usage-rate.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Stats, StatsDetail } from "../../ports/stats.ts";

export interface NodeReadingsParts {
  readonly clock: Clock;
  readonly stats: Stats;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  /** Undefined until the runtime has reported its cgroup driver. */
  readonly cgroups: Latest<{ readonly pods: { pathOf(name: CgroupName): string } } | undefined>;
  readonly directories: StatsDirectories;
  /** From the configuration. An empty kubelet cgroup is detected; another empty one does not exist. */
  readonly systemGroups: Omit<SystemGroups, "pods">;
  /** Directories of the runtime's writable layers and images, whose filesystems are measured. */
  readonly storagePaths: () => readonly string[];
}

export interface NodeReading {
  readonly reading: StatsReading;
  readonly pods: readonly StatsPod[];
  readonly systemGroups: SystemGroups;
  readonly nanoCoresOf: (group: string) => number | undefined;
}

const DETAILS: readonly StatsDetail[] = ["usage", "summary", "everything"];
const SECOND_LOOK_MS = 150;

export class NodeReadings {
  readonly #parts: NodeReadingsParts;
  readonly #cached: CachedReading<StatsDetail, NodeReading>;
  readonly #shutdown: AbortSignal;
  #samples: CpuSamples = new Map();
  #ownGroup: string | undefined;

  constructor(parts: NodeReadingsParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
    this.#cached = new CachedReading({ clock: parts.clock, details: DETAILS, read: (detail) => this.#read(detail) });
  }

  ask(detail: StatsDetail, signal: AbortSignal): Promise<NodeReading> {
    return this.#cached.read(detail, signal);
  }

  async #read(detail: StatsDetail): Promise<NodeReading> {
    const systemGroups = await this.#systemGroups();
    const first = await this.#readOnce(detail, systemGroups);
    if (!lacksRates(this.#samples)) return first;
    await sleep(this.#parts.clock, SECOND_LOOK_MS, this.#shutdown);
    return this.#readOnce(detail, systemGroups);
  }

  async #readOnce(detail: StatsDetail, systemGroups: SystemGroups): Promise<NodeReading> {
    const { stats, podRuntimeStatus, directories } = this.#parts;
    const pods = statsPods(podRuntimeStatus.keys().flatMap((uid) => podRuntimeStatus.get(uid) ?? []));
    const reading = await stats.read(
      {
        detail,
        groups: Object.values(systemGroups).filter((group) => group !== ""),
        sandboxes: new Set(pods.map(({ sandboxId }) => sandboxId)),
        filesystems: detail === "usage" ? [] : [directories.root, ...this.#parts.storagePaths()],
        files: detail === "usage" ? [] : summaryFiles(directories, pods),
      },
      this.#shutdown,
    );
    const samples = nextSamples(this.#samples, reading.groups);
    this.#samples = samples;
    return { reading, pods, systemGroups, nanoCoresOf: (group) => samples.get(group)?.nanoCores };
  }

  async #systemGroups(): Promise<SystemGroups> {
    const { cgroups, systemGroups, stats } = this.#parts;
    const kubelet = systemGroups.kubelet === "" ? await this.#kubeletGroup(stats) : systemGroups.kubelet;
    return { ...systemGroups, kubelet, pods: cgroups.value?.pods.pathOf(KUBEPODS) ?? "" };
  }

  /** The kubelet's own cgroup, cached once known. */
  async #kubeletGroup(stats: Pick<Stats, "ownGroup">): Promise<string> {
    this.#ownGroup ??= (await stats.ownGroup()) ?? "";
    return this.#ownGroup;
  }
}

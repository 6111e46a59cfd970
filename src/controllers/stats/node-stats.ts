/**
 * The usage of the node, its pods and their containers, for the node's stats and metrics endpoints. Nothing is read
 * without a request, and concurrent requests share one reading.
 */
import type { Family } from "../../base/metrics/family.ts";
import { containerFamilies } from "../../domain/stats/cadvisor-metrics.ts";
import { logFamilies } from "../../domain/stats/log-metrics.ts";
import { machineFamilies } from "../../domain/stats/machine-metrics.ts";
import { resourceFamilies } from "../../domain/stats/resource-metrics.ts";
import { type SummaryInputs, summaryOf, usageSummaryOf } from "../../domain/stats/summary.ts";
import type { Summary } from "../../domain/stats/summary-shape.ts";
import { volumeFamilies } from "../../domain/stats/volume-metrics.ts";
import type { Machine } from "../../ports/machine.ts";
import { type NodeReading, NodeReadings, type NodeReadingsParts } from "./node-reading.ts";
import { SandboxImages, type SandboxImagesParts } from "./sandbox-images.ts";
import { VolumeUsage, type VolumeUsageParts } from "./volume-usage.ts";
import { WritableLayerStats, type WritableLayerStatsParts } from "./writable-layer-stats.ts";

export type NodeStatsParts = Omit<NodeReadingsParts, "storagePaths"> &
  WritableLayerStatsParts &
  VolumeUsageParts &
  SandboxImagesParts & {
    readonly machine: Pick<Machine, "facts" | "processCount">;
    readonly nodeName: string;
    /** Whether the feature gate KubeletPSI is enabled. */
    readonly tellsPressure: boolean;
  };

export class NodeStats {
  readonly #parts: NodeStatsParts;
  readonly #startedWallMs: number;
  readonly #layers: WritableLayerStats;
  readonly #readings: NodeReadings;
  readonly #volumes: VolumeUsage;
  readonly #images: SandboxImages;

  constructor(parts: NodeStatsParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#startedWallMs = parts.clock.wallMs();
    this.#layers = new WritableLayerStats(parts, shutdown);
    this.#readings = new NodeReadings({ ...parts, storagePaths: () => this.#layers.mountpoints }, shutdown);
    this.#volumes = new VolumeUsage(parts, shutdown);
    this.#images = new SandboxImages(parts);
  }

  /** The response of /stats/summary. */
  async summary(signal: AbortSignal): Promise<Summary> {
    const { podRuntimeStatus, machine, directories, clock } = this.#parts;
    const containers = podRuntimeStatus.keys().flatMap((uid) => this.#runningOf(uid));
    // The runtime reports which filesystems it uses; the reading measures those.
    const layers = await this.#layers.ask(containers, signal);
    const [reading, volumesByPod, facts, count] = await Promise.all([
      this.#readings.ask("summary", signal),
      this.#volumes.ask(signal),
      machine.facts(),
      machine.processCount(),
    ]);
    return summaryOf(this.#inputsOf(reading), {
      ...layers,
      directories,
      volumesOf: (uid) => volumesByPod.get(uid) ?? [],
      processes: { count, max: facts.pidsMax },
      nowWallMs: clock.wallMs(),
    });
  }

  /** The response of /stats/summary with CPU and memory only. */
  async usageSummary(signal: AbortSignal): Promise<Summary> {
    return usageSummaryOf(this.#inputsOf(await this.#readings.ask("usage", signal)));
  }

  /** Metrics of /metrics/resource. If nothing could be read, the metrics report that error. */
  async resourceFamilies(signal: AbortSignal): Promise<readonly Family[]> {
    const read = await this.#readings.ask("usage", signal).catch((error: unknown) => {
      signal.throwIfAborted();
      this.#parts.log.error("Error getting summary for resourceMetric prometheus endpoint", error);
      return undefined;
    });
    return resourceFamilies(read?.reading, read?.pods ?? []);
  }

  /** Metrics of /metrics/cadvisor. */
  async cadvisorFamilies(signal: AbortSignal): Promise<Iterable<Family>> {
    const { machine, tellsPressure, clock } = this.#parts;
    const [read, facts] = await Promise.all([this.#readings.ask("everything", signal), machine.facts()]);
    const sandboxes = read.pods.map(({ sandboxId }) => sandboxId);
    const sandboxImages = await this.#images.ask(sandboxes, signal);
    const nowWallMs = clock.wallMs();
    return inOrder(machineFamilies(facts), containerFamilies({ ...read, sandboxImages, tellsPressure, nowWallMs }));
  }

  /** Part of /metrics: the usage of volumes behind PersistentVolumeClaims. */
  async volumeFamilies(signal: AbortSignal): Promise<readonly Family[]> {
    return volumeFamilies([...(await this.#volumes.ask(signal)).values()].flat().map(({ stats }) => stats));
  }

  /** Part of /metrics: the size of container logs. */
  async logFamilies(signal: AbortSignal): Promise<readonly Family[]> {
    const { pods, reading } = await this.#readings.ask("summary", signal);
    return logFamilies(pods, reading, this.#parts.directories);
  }

  #inputsOf(reading: NodeReading): SummaryInputs {
    const { nodeName, tellsPressure } = this.#parts;
    const options = { nanoCoresOf: reading.nanoCoresOf, tellsPressure };
    return { ...reading, nodeName, startedWallMs: this.#startedWallMs, options };
  }

  #runningOf(uid: string): readonly string[] {
    const { containers = [] } = this.#parts.podRuntimeStatus.get(uid) ?? {};
    return containers.filter(({ state }) => state === "running").map(({ id }) => id);
  }
}

/** Sorted by name: the machine's families come before and after those of the containers. */
function* inOrder(machine: readonly Family[], containers: Iterable<Family>): Generator<Family> {
  yield* machine.filter(({ name }) => name < "container");
  yield* containers;
  yield* machine.filter(({ name }) => name >= "container");
}

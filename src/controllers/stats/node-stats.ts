/**
 * What the node, its pods and their containers use, for whoever asks: the node's stats endpoints and its metrics. Nothing is read before somebody
 * asks, and answers that are asked for together come from one reading.
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
import { Layers, type LayersParts } from "./layers.ts";
import { type NodeReading, NodeReadings, type NodeReadingsParts } from "./node-reading.ts";
import { SandboxImages, type SandboxImagesParts } from "./sandbox-images.ts";
import { VolumeUsage, type VolumeUsageParts } from "./volume-usage.ts";

export type NodeStatsParts = Omit<NodeReadingsParts, "storagePaths"> &
  LayersParts &
  VolumeUsageParts &
  SandboxImagesParts & {
    readonly machine: Pick<Machine, "facts" | "processCount">;
    readonly nodeName: string;
    /** The gate KubeletPSI. */
    readonly tellsPressure: boolean;
  };

export class NodeStats {
  readonly #parts: NodeStatsParts;
  readonly #startedWallMs: number;
  readonly #layers: Layers;
  readonly #readings: NodeReadings;
  readonly #volumes: VolumeUsage;
  readonly #images: SandboxImages;

  constructor(parts: NodeStatsParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#startedWallMs = parts.clock.wallMs();
    this.#layers = new Layers(parts, shutdown);
    this.#readings = new NodeReadings({ ...parts, storagePaths: () => this.#layers.mountpoints }, shutdown);
    this.#volumes = new VolumeUsage(parts, shutdown);
    this.#images = new SandboxImages(parts);
  }

  /** Of /stats/summary. */
  async summary(signal: AbortSignal): Promise<Summary> {
    const { podRuntimeStatus, machine, folders, clock } = this.#parts;
    const containers = podRuntimeStatus.keys().flatMap((uid) => this.#runningOf(uid));
    // The runtime says which file systems it uses, and the reading measures those.
    const layers = await this.#layers.ask(containers, signal);
    const [reading, volumesByPod, facts, count] = await Promise.all([
      this.#readings.ask("summary", signal),
      this.#volumes.ask(signal),
      machine.facts(),
      machine.processCount(),
    ]);
    return summaryOf(this.#inputsOf(reading), {
      ...layers,
      folders,
      volumesOf: (uid) => volumesByPod.get(uid) ?? [],
      processes: { count, max: facts.pidsMax },
      nowWallMs: clock.wallMs(),
    });
  }

  /** Of /stats/summary, CPU and memory only. */
  async usageSummary(signal: AbortSignal): Promise<Summary> {
    return usageSummaryOf(this.#inputsOf(await this.#readings.ask("usage", signal)));
  }

  /** Of /metrics/resource. Where nothing could be read they say so. */
  async resourceFamilies(signal: AbortSignal): Promise<readonly Family[]> {
    const read = await this.#readings.ask("usage", signal).catch((error: unknown) => {
      signal.throwIfAborted();
      this.#parts.log.error("Error getting summary for resourceMetric prometheus endpoint", error);
      return undefined;
    });
    return resourceFamilies(read?.reading, read?.pods ?? []);
  }

  /** Of /metrics/cadvisor. */
  async cadvisorFamilies(signal: AbortSignal): Promise<Iterable<Family>> {
    const { machine, tellsPressure, clock } = this.#parts;
    const [read, facts] = await Promise.all([this.#readings.ask("everything", signal), machine.facts()]);
    const sandboxes = read.pods.map(({ sandboxId }) => sandboxId);
    const sandboxImages = await this.#images.ask(sandboxes, signal);
    const nowWallMs = clock.wallMs();
    return inOrder(machineFamilies(facts), containerFamilies({ ...read, sandboxImages, tellsPressure, nowWallMs }));
  }

  /** Of /metrics: how full the volumes behind claims are. */
  async volumeFamilies(signal: AbortSignal): Promise<readonly Family[]> {
    return volumeFamilies([...(await this.#volumes.ask(signal)).values()].flat().map(({ stats }) => stats));
  }

  /** Of /metrics: how much the logs of containers take. */
  async logFamilies(signal: AbortSignal): Promise<readonly Family[]> {
    const { pods, reading } = await this.#readings.ask("summary", signal);
    return logFamilies(pods, reading, this.#parts.folders);
  }

  #inputsOf(reading: NodeReading): SummaryInputs {
    const { nodeName, tellsPressure } = this.#parts;
    const telling = { nanoCoresOf: reading.nanoCoresOf, tellsPressure };
    return { ...reading, nodeName, startedWallMs: this.#startedWallMs, telling };
  }

  #runningOf(uid: string): readonly string[] {
    const { containers = [] } = this.#parts.podRuntimeStatus.get(uid) ?? {};
    return containers.filter(({ state }) => state === "running").map(({ id }) => id);
  }
}

/** Both in the order of their names; those of the machine stand around the others. */
function* inOrder(machine: readonly Family[], containers: Iterable<Family>): Generator<Family> {
  yield* machine.filter(({ name }) => name < "container");
  yield* containers;
  yield* machine.filter(({ name }) => name >= "container");
}

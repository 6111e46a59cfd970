/** Stats of the fake runtime. A process uses a hundredth of a core, and the memory that its behavior specifies. */
import type {
  ContainerStats,
  ContainerStatsFilter,
  MetricDescriptor,
  SandboxMetrics,
  SandboxStats,
  StatsFilter,
} from "../../src/domain/runtime/stats.ts";
import type { Containers } from "./containers.ts";
import { type NodeState, refuse } from "./node-state.ts";
import type { Process } from "./process.ts";
import { type ContainerRecord, labelsFit, type SandboxRecord } from "./records.ts";
import type { Sandboxes } from "./sandboxes.ts";

const LAYER_ROOT = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs";
const CPU_METRIC = "container_cpu_usage_seconds_total";
const MEMORY_METRIC = "container_memory_working_set_bytes";

export class Stats {
  readonly #state: NodeState;
  readonly #containers: Containers;
  readonly #sandboxes: Sandboxes;

  constructor(state: NodeState, containers: Containers, sandboxes: Sandboxes) {
    this.#state = state;
    this.#containers = containers;
    this.#sandboxes = sandboxes;
  }

  container(id: string): ContainerStats {
    const record = this.#containers.get("ContainerStats", id);
    if (record.state !== "running") throw refuse("ContainerStats", "unknown", `container ${id} is ${record.state}`);
    return this.#ofContainer(record);
  }

  listContainers({ id, sandboxId, labels }: ContainerStatsFilter): readonly ContainerStats[] {
    return this.#running()
      .filter((record) => id === undefined || record.id === id)
      .filter((record) => sandboxId === undefined || record.sandboxId === sandboxId)
      .filter((record) => labelsFit(record.config.labels ?? {}, labels))
      .map((record) => this.#ofContainer(record));
  }

  sandbox(id: string): SandboxStats {
    const record = this.#sandboxes.get("PodSandboxStats", id);
    if (record.state !== "ready") throw refuse("PodSandboxStats", "unavailable", `sandbox ${id} is not ready`);
    return this.#ofSandbox(record);
  }

  listSandboxes({ id, labels }: StatsFilter): readonly SandboxStats[] {
    return this.#ready()
      .filter((record) => id === undefined || record.id === id)
      .filter((record) => labelsFit(record.config.labels ?? {}, labels))
      .map((record) => this.#ofSandbox(record));
  }

  descriptors(): readonly MetricDescriptor[] {
    return [
      { name: CPU_METRIC, help: "Cumulative CPU time consumed.", labelKeys: ["id", "name"] },
      { name: MEMORY_METRIC, help: "Current working set.", labelKeys: ["id", "name"] },
    ];
  }

  metrics(): readonly SandboxMetrics[] {
    return this.#ready().map((sandbox) => ({
      sandboxId: sandbox.id,
      samples: [],
      containers: this.#running()
        .filter((record) => record.sandboxId === sandbox.id)
        .map((record) => ({ containerId: record.id, samples: this.#samples(record) })),
    }));
  }

  #samples({ id, config, process }: ContainerRecord) {
    const wallNs = this.#state.wallNs();
    const labelValues = [id, config.metadata.name];
    const seconds = this.#coreNs(process) / 1_000_000_000n;
    return [
      { name: CPU_METRIC, wallNs, kind: "counter" as const, labelValues, value: seconds },
      { name: MEMORY_METRIC, wallNs, kind: "gauge" as const, labelValues, value: process?.memoryBytes ?? 0n },
    ];
  }

  #running(): readonly ContainerRecord[] {
    return [...this.#state.containers.values()].filter(({ state }) => state === "running");
  }

  #ready(): readonly SandboxRecord[] {
    return [...this.#state.sandboxes.values()].filter(({ state }) => state === "ready");
  }

  #ofContainer(record: ContainerRecord): ContainerStats {
    const wallNs = this.#state.wallNs();
    return {
      id: record.id,
      metadata: record.config.metadata,
      labels: record.config.labels ?? {},
      annotations: record.annotations,
      ...this.#usage(record.process, wallNs),
      writableLayer: {
        wallNs,
        mountpoint: LAYER_ROOT,
        usedBytes: 4096n + BigInt(record.process?.use.layerBytes ?? 0),
        inodesUsed: 1n,
      },
    };
  }

  #ofSandbox(record: SandboxRecord): SandboxStats {
    const wallNs = this.#state.wallNs();
    const containers = this.#running().filter(({ sandboxId }) => sandboxId === record.id);
    const eth0 = { name: "eth0", rxBytes: 0n, rxErrors: 0n, txBytes: 0n, txErrors: 0n };
    return {
      id: record.id,
      metadata: record.config.metadata,
      labels: record.config.labels ?? {},
      annotations: record.config.annotations ?? {},
      ...this.#usage(record.process, wallNs),
      network: { wallNs, defaultInterface: eth0, interfaces: [eth0] },
      processCount: BigInt(containers.length + 1),
      containers: containers.map((container) => this.#ofContainer(container)),
    };
  }

  #usage(process: Process | undefined, wallNs: bigint) {
    const bytes = process?.memoryBytes ?? 0n;
    return {
      cpu: { wallNs, usageCoreNs: this.#coreNs(process) },
      memory: { wallNs, workingSetBytes: bytes, usageBytes: bytes, rssBytes: bytes },
    };
  }

  /** A process uses 1 ms of CPU to start, then a hundredth of the elapsed time. */
  #coreNs(process: Process | undefined): bigint {
    if (process === undefined) return 0n;
    const ranMs = this.#state.options.clock.monotonicMs() - process.startedMonotonicMs;
    return BigInt(Math.trunc(ranMs * 10_000)) + 1_000_000n;
  }
}

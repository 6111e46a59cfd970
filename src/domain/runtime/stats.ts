/** Resource usage of containers and sandboxes as the runtime measures it. An absent value was not measured. */
import type { ContainerMetadata } from "./container.ts";
import type { FilesystemUsage } from "./image.ts";
import type { SandboxMetadata } from "./sandbox.ts";

export interface PressureLine {
  readonly totalNs: bigint;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface Pressure {
  readonly full?: PressureLine;
  readonly some?: PressureLine;
}

export interface CpuUsage {
  readonly wallNs: bigint;
  readonly usageCoreNs?: bigint;
  readonly usageNanoCores?: bigint;
  readonly pressure?: Pressure;
}

export interface MemoryUsage {
  readonly wallNs: bigint;
  readonly workingSetBytes?: bigint;
  readonly availableBytes?: bigint;
  readonly usageBytes?: bigint;
  readonly rssBytes?: bigint;
  readonly pageFaults?: bigint;
  readonly majorPageFaults?: bigint;
  readonly pressure?: Pressure;
}

export interface SwapUsage {
  readonly wallNs: bigint;
  readonly availableBytes?: bigint;
  readonly usageBytes?: bigint;
}

export interface IoUsage {
  readonly wallNs: bigint;
  readonly pressure?: Pressure;
}

export interface ContainerStats {
  readonly id: string;
  readonly metadata: ContainerMetadata;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cpu?: CpuUsage;
  readonly memory?: MemoryUsage;
  readonly swap?: SwapUsage;
  readonly io?: IoUsage;
  readonly writableLayer?: FilesystemUsage;
}

export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes?: bigint;
  readonly rxErrors?: bigint;
  readonly txBytes?: bigint;
  readonly txErrors?: bigint;
}

export interface SandboxStats {
  readonly id: string;
  readonly metadata: SandboxMetadata;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cpu?: CpuUsage;
  readonly memory?: MemoryUsage;
  readonly io?: IoUsage;
  readonly network?: {
    readonly wallNs: bigint;
    readonly defaultInterface?: InterfaceUsage;
    readonly interfaces: readonly InterfaceUsage[];
  };
  readonly processCount?: bigint;
  readonly containers: readonly ContainerStats[];
}

export interface StatsFilter {
  readonly id?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ContainerStatsFilter extends StatsFilter {
  readonly sandboxId?: string;
}

export interface MetricDescriptor {
  readonly name: string;
  readonly help: string;
  readonly labelKeys: readonly string[];
}

export interface MetricSample {
  readonly name: string;
  readonly wallNs: bigint;
  readonly kind: "counter" | "gauge";
  readonly labelValues: readonly string[];
  readonly value: bigint;
}

export interface SandboxMetrics {
  readonly sandboxId: string;
  readonly samples: readonly MetricSample[];
  readonly containers: readonly { readonly containerId: string; readonly samples: readonly MetricSample[] }[];
}

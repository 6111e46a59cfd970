/** Converts stats of containers and sandboxes from CRI. A value that the runtime did not measure stays absent. */
import type {
  ContainerStats,
  CpuUsage,
  InterfaceUsage,
  IoUsage,
  MemoryUsage,
  MetricSample,
  Pressure,
  PressureLine,
  SandboxMetrics,
  SandboxStats,
  SwapUsage,
} from "../../domain/runtime/stats.ts";
import {
  type ContainerStats as ContainerStatsMessage,
  type CpuUsage as CpuUsageMessage,
  type IoUsage as IoUsageMessage,
  type MemoryUsage as MemoryUsageMessage,
  type Metric,
  MetricType,
  type NetworkInterfaceUsage,
  type PodSandboxMetrics,
  type PodSandboxStats,
  type PsiData,
  type PsiStats,
  type SwapUsage as SwapUsageMessage,
} from "./gen/api_pb.js";
import { nonEmpty, present, required, type Words, wallNs, wordOf } from "./parse.ts";
import { fromContainerMetadata } from "./translate-container.ts";
import { fromFilesystem } from "./translate-image.ts";
import { fromSandboxMetadata } from "./translate-sandbox.ts";

export function fromContainerStats(from: ContainerStatsMessage): ContainerStats {
  const attributes = required(from.attributes, "attributes of a container's stats");
  const id = nonEmpty(attributes.id, "the container's id in its stats");
  return present({
    id,
    metadata: fromContainerMetadata(attributes.metadata, id),
    labels: attributes.labels,
    annotations: attributes.annotations,
    cpu: from.cpu && fromCpu(from.cpu),
    memory: from.memory && fromMemory(from.memory),
    swap: from.swap && fromSwap(from.swap),
    io: from.io && fromIo(from.io),
    writableLayer: from.writableLayer && fromFilesystem(from.writableLayer),
  });
}

export function fromSandboxStats(from: PodSandboxStats): SandboxStats {
  const attributes = required(from.attributes, "attributes of a sandbox's stats");
  const id = nonEmpty(attributes.id, "the sandbox's id in its stats");
  const { linux } = from;
  const network = linux?.network;
  return present({
    id,
    metadata: fromSandboxMetadata(attributes.metadata, id),
    labels: attributes.labels,
    annotations: attributes.annotations,
    cpu: linux?.cpu && fromCpu(linux.cpu),
    memory: linux?.memory && fromMemory(linux.memory),
    io: linux?.io && fromIo(linux.io),
    network:
      network &&
      present({
        wallNs: wallNs(network.timestamp),
        defaultInterface: network.defaultInterface && fromInterface(network.defaultInterface),
        interfaces: network.interfaces.map(fromInterface),
      }),
    processCount: linux?.process?.processCount?.value,
    containers: (linux?.containers ?? []).map(fromContainerStats),
  });
}

function fromCpu(from: CpuUsageMessage): CpuUsage {
  return present({
    wallNs: wallNs(from.timestamp),
    usageCoreNs: from.usageCoreNanoSeconds?.value,
    usageNanoCores: from.usageNanoCores?.value,
    pressure: from.psi && fromPressure(from.psi),
  });
}

function fromMemory(from: MemoryUsageMessage): MemoryUsage {
  return present({
    wallNs: wallNs(from.timestamp),
    workingSetBytes: from.workingSetBytes?.value,
    availableBytes: from.availableBytes?.value,
    usageBytes: from.usageBytes?.value,
    rssBytes: from.rssBytes?.value,
    pageFaults: from.pageFaults?.value,
    majorPageFaults: from.majorPageFaults?.value,
    pressure: from.psi && fromPressure(from.psi),
  });
}

function fromSwap(from: SwapUsageMessage): SwapUsage {
  return present({
    wallNs: wallNs(from.timestamp),
    availableBytes: from.swapAvailableBytes?.value,
    usageBytes: from.swapUsageBytes?.value,
  });
}

function fromIo(from: IoUsageMessage): IoUsage {
  return present({
    wallNs: wallNs(from.timestamp),
    pressure: from.psi && fromPressure(from.psi),
  });
}

function fromPressure(from: PsiStats): Pressure {
  return present({ full: from.Full && fromPressureLine(from.Full), some: from.Some && fromPressureLine(from.Some) });
}

const fromPressureLine = (from: PsiData): PressureLine => ({
  totalNs: from.Total,
  avg10: from.Avg10,
  avg60: from.Avg60,
  avg300: from.Avg300,
});

function fromInterface(from: NetworkInterfaceUsage): InterfaceUsage {
  return present({
    name: from.name,
    rxBytes: from.rxBytes?.value,
    rxErrors: from.rxErrors?.value,
    txBytes: from.txBytes?.value,
    txErrors: from.txErrors?.value,
  });
}

export function fromSandboxMetrics(from: PodSandboxMetrics): SandboxMetrics {
  return {
    sandboxId: nonEmpty(from.podSandboxId, "the sandbox's id in its metrics"),
    samples: from.metrics.map(fromMetric),
    containers: from.containerMetrics.map(({ containerId, metrics }) => ({
      containerId: nonEmpty(containerId, "the container's id in its metrics"),
      samples: metrics.map(fromMetric),
    })),
  };
}

const METRIC_KINDS: Words<MetricSample["kind"], MetricType> = [
  ["counter", MetricType.COUNTER],
  ["gauge", MetricType.GAUGE],
];

function fromMetric(from: Metric): MetricSample {
  return {
    name: nonEmpty(from.name, "a metric's name"),
    wallNs: wallNs(from.timestamp),
    kind: wordOf(METRIC_KINDS, from.metricType, `kind of metric ${from.name}`),
    labelValues: from.labelValues,
    value: required(from.value, `value of metric ${from.name}`).value,
  };
}

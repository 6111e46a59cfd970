/** Volumes that come and go. */
import type { Registry } from "../../base/metrics/registry.ts";

export type VolumeMetrics = ReturnType<typeof volumeMetrics>;

const STORAGE_SECONDS: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export const volumeMetrics = (registry: Registry) => ({
  operations: registry.histogram({
    name: "storage_operation_duration_seconds",
    help: "How long it took to bring a volume to a pod, or to take it away.",
    labels: ["volume_plugin", "operation_name", "status", "migrated"],
    buckets: STORAGE_SECONDS,
  }),
  reconstructed: registry.counter({
    name: "reconstruct_volume_operations_total",
    help: "Volumes of an earlier life of this agent that were found on the node.",
    labels: [],
  }),
  reconstructErrors: registry.counter({
    name: "reconstruct_volume_operations_errors_total",
    help: "Times that what lies on the node of an earlier life could not be read.",
    labels: [],
  }),
});

export const storagePlugin = (plugin: string): string => `kubernetes.io/${plugin}`;

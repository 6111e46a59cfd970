/** Metrics of volume setup and teardown. */
import type { Registry } from "../../base/metrics/registry.ts";

export type VolumeMetrics = ReturnType<typeof volumeMetrics>;

const STORAGE_SECONDS: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export const volumeMetrics = (registry: Registry) => ({
  operations: registry.histogram({
    name: "storage_operation_duration_seconds",
    help: "[ALPHA] Storage operation duration",
    labels: ["volume_plugin", "operation_name", "status", "migrated"],
    buckets: STORAGE_SECONDS,
  }),
  reconstructed: registry.counter({
    name: "reconstruct_volume_operations_total",
    help: "[ALPHA] The number of volumes that were attempted to be reconstructed from the operating system during kubelet startup. This includes both successful and failed reconstruction.",
    labels: [],
  }),
  reconstructErrors: registry.counter({
    name: "reconstruct_volume_operations_errors_total",
    help: "[ALPHA] The number of volumes that failed reconstruction from the operating system during kubelet startup.",
    labels: [],
  }),
});

export const storagePlugin = (plugin: string): string => `kubernetes.io/${plugin}`;

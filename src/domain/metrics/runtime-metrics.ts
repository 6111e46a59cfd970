/** Metrics of calls to the runtime, under the Go kubelet's operation names, and of the PLEG. */
import type { Registry } from "../../base/metrics/registry.ts";
import { growing, QUICK_SECONDS } from "./buckets.ts";

export type RuntimeMetrics = ReturnType<typeof runtimeMetrics>;

export const runtimeMetrics = (registry: Registry) => ({
  operations: registry.counter({
    name: "kubelet_runtime_operations_total",
    help: "[ALPHA] Cumulative number of runtime operations by operation type.",
    labels: ["operation_type"],
  }),
  errors: registry.counter({
    name: "kubelet_runtime_operations_errors_total",
    help: "[ALPHA] Cumulative number of runtime operation errors by operation type.",
    labels: ["operation_type"],
  }),
  durations: registry.histogram({
    name: "kubelet_runtime_operations_duration_seconds",
    help: "[ALPHA] Duration in seconds of runtime operations. Broken down by operation type.",
    labels: ["operation_type"],
    buckets: growing(0.005, 2.5, 14),
  }),
  sandboxDurations: registry.histogram({
    name: "kubelet_run_podsandbox_duration_seconds",
    help: "[ALPHA] Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.",
    labels: ["runtime_handler"],
    buckets: QUICK_SECONDS,
    seriesMax: 100,
  }),
  sandboxErrors: registry.counter({
    name: "kubelet_run_podsandbox_errors_total",
    help: "[ALPHA] Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.",
    labels: ["runtime_handler"],
    seriesMax: 100,
  }),
  losingSupport: registry.gauge({
    name: "kubelet_cri_losing_support",
    help: "[ALPHA] the Kubernetes version that the currently running CRI implementation will lose support on if not upgraded.",
    labels: ["version"],
  }),
});

export type PlegMetrics = ReturnType<typeof plegMetrics>;

export const plegMetrics = (registry: Registry) => ({
  relists: registry.histogram({
    name: "kubelet_pleg_relist_duration_seconds",
    help: "[ALPHA] Duration in seconds for relisting pods in PLEG.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  intervals: registry.histogram({
    name: "kubelet_pleg_relist_interval_seconds",
    help: "[ALPHA] Interval in seconds between relisting in PLEG.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  inspections: registry.histogram({
    name: "kubelet_pleg_pod_relist_duration_seconds",
    help: "[ALPHA] Duration in seconds for relisting a single pod in PLEG.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  lastSeen: registry.gauge({
    name: "kubelet_pleg_last_seen_seconds",
    help: "[ALPHA] Timestamp in seconds when PLEG was last seen active.",
    labels: [],
  }),
  discarded: registry.counter({
    name: "kubelet_pleg_discard_events",
    help: "[ALPHA] The number of discard events in PLEG.",
    labels: [],
  }),
});

/** Calls to the runtime, by the names that the Go kubelet gives them, and the watch over it. */
import type { Registry } from "../../base/metrics/registry.ts";
import { growing, QUICK_SECONDS } from "./buckets.ts";

export type RuntimeMetrics = ReturnType<typeof runtimeMetrics>;

export const runtimeMetrics = (registry: Registry) => ({
  operations: registry.counter({
    name: "kubelet_runtime_operations_total",
    help: "Calls to the runtime.",
    labels: ["operation_type"],
  }),
  errors: registry.counter({
    name: "kubelet_runtime_operations_errors_total",
    help: "Calls to the runtime that failed.",
    labels: ["operation_type"],
  }),
  durations: registry.histogram({
    name: "kubelet_runtime_operations_duration_seconds",
    help: "How long calls to the runtime took.",
    labels: ["operation_type"],
    buckets: growing(0.005, 2.5, 14),
  }),
  sandboxDurations: registry.histogram({
    name: "kubelet_run_podsandbox_duration_seconds",
    help: "How long sandboxes took to be made, by handler of their RuntimeClass.",
    labels: ["runtime_handler"],
    buckets: QUICK_SECONDS,
    seriesMax: 100,
  }),
  sandboxErrors: registry.counter({
    name: "kubelet_run_podsandbox_errors_total",
    help: "Sandboxes that could not be made, by handler of their RuntimeClass.",
    labels: ["runtime_handler"],
    seriesMax: 100,
  }),
  losingSupport: registry.gauge({
    name: "kubelet_cri_losing_support",
    help: "1 for the version of Kubernetes that this runtime will be too old for.",
    labels: ["version"],
  }),
});

export type PlegMetrics = ReturnType<typeof plegMetrics>;

export const plegMetrics = (registry: Registry) => ({
  relists: registry.histogram({
    name: "kubelet_pleg_relist_duration_seconds",
    help: "How long it took to list everything in the runtime.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  intervals: registry.histogram({
    name: "kubelet_pleg_relist_interval_seconds",
    help: "From one listing of the runtime to the next.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  looks: registry.histogram({
    name: "kubelet_pleg_pod_relist_duration_seconds",
    help: "How long it took to look at one pod in the runtime.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  lastSeen: registry.gauge({
    name: "kubelet_pleg_last_seen_seconds",
    help: "When the runtime was last listed.",
    labels: [],
  }),
  discarded: registry.counter({
    name: "kubelet_pleg_discard_events",
    help: "How often events of the runtime were lost because nobody kept up with them.",
    labels: [],
  }),
});

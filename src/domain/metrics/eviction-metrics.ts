/** Metrics of evicted pods. */
import type { Registry } from "../../base/metrics/registry.ts";
import { QUICK_SECONDS } from "./buckets.ts";

export type EvictionMetrics = ReturnType<typeof evictionMetrics>;

export const evictionMetrics = (registry: Registry) => ({
  evictions: registry.counter({
    name: "kubelet_evictions",
    help: "[ALPHA] Cumulative number of pod evictions by eviction signal",
    labels: ["eviction_signal"],
  }),
  statsAge: registry.histogram({
    name: "kubelet_eviction_stats_age_seconds",
    help: "[ALPHA] Time between when stats are collected, and when pod is evicted based on those stats by eviction signal",
    labels: ["eviction_signal"],
    buckets: QUICK_SECONDS,
  }),
});

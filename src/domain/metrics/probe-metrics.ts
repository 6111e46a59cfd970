/** Metrics of the containers' probes. There are as many series as probes; they are removed with their pods. */
import type { Registry } from "../../base/metrics/registry.ts";
import { QUICK_SECONDS } from "./buckets.ts";

export type ProbeMetrics = ReturnType<typeof probeMetrics>;

const SERIES_MAX = 50_000;

export const probeMetrics = (registry: Registry) => ({
  total: registry.counter({
    name: "prober_probe_total",
    help: "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
    labels: ["probe_type", "result", "container", "pod", "namespace", "pod_uid"],
    seriesMax: SERIES_MAX,
  }),
  duration: registry.histogram({
    name: "prober_probe_duration_seconds",
    help: "[ALPHA] Duration in seconds for a probe response.",
    labels: ["probe_type", "container", "pod", "namespace"],
    buckets: QUICK_SECONDS,
    seriesMax: SERIES_MAX,
  }),
});

/** What the probes of containers came to. As many series as there are probes: they go with their pods. */
import type { Registry } from "../../base/metrics/registry.ts";
import { QUICK_SECONDS } from "./buckets.ts";

export type ProbeMetrics = ReturnType<typeof probeMetrics>;

const SERIES_MAX = 50_000;

export const probeMetrics = (registry: Registry) => ({
  total: registry.counter({
    name: "prober_probe_total",
    help: "Liveness, readiness and startup probes of containers, by what they came to.",
    labels: ["probe_type", "result", "container", "pod", "namespace", "pod_uid"],
    seriesMax: SERIES_MAX,
  }),
  duration: registry.histogram({
    name: "prober_probe_duration_seconds",
    help: "How long probes took that went well.",
    labels: ["probe_type", "container", "pod", "namespace"],
    buckets: QUICK_SECONDS,
    seriesMax: SERIES_MAX,
  }),
});

/** Metrics of requests to this node's server. */
import type { Registry } from "../../base/metrics/registry.ts";
import { QUICK_SECONDS } from "./buckets.ts";

export type ServerMetrics = ReturnType<typeof serverMetrics>;

const LABELS = ["method", "path", "server_type", "long_running"] as const;

export const serverMetrics = (registry: Registry) => ({
  requests: registry.counter({
    name: "kubelet_http_requests_total",
    help: "[ALPHA] Number of the http requests received since the server started",
    labels: LABELS,
  }),
  durations: registry.histogram({
    name: "kubelet_http_requests_duration_seconds",
    help: "[ALPHA] Duration in seconds to serve http requests",
    labels: LABELS,
    buckets: QUICK_SECONDS,
  }),
  underWay: registry.gauge({
    name: "kubelet_http_inflight_requests",
    help: "[ALPHA] Number of the inflight http requests",
    labels: LABELS,
  }),
});

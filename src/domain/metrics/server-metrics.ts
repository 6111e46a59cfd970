/** What others asked of this node. */
import type { Registry } from "../../base/metrics/registry.ts";
import { QUICK_SECONDS } from "./buckets.ts";

export type ServerMetrics = ReturnType<typeof serverMetrics>;

const LABELS = ["method", "path", "server_type", "long_running"] as const;

export const serverMetrics = (registry: Registry) => ({
  requests: registry.counter({
    name: "kubelet_http_requests_total",
    help: "Requests to this node's own API.",
    labels: LABELS,
  }),
  durations: registry.histogram({
    name: "kubelet_http_requests_duration_seconds",
    help: "How long requests to this node's own API took.",
    labels: LABELS,
    buckets: QUICK_SECONDS,
  }),
  underWay: registry.gauge({
    name: "kubelet_http_inflight_requests",
    help: "Requests to this node's own API that are under way.",
    labels: LABELS,
  }),
});

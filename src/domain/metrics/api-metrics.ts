/** Requests to the API server, as client-go counts them. */
import type { Registry } from "../../base/metrics/registry.ts";

export type ApiMetrics = ReturnType<typeof apiMetrics>;

export const apiMetrics = (registry: Registry) => ({
  requests: registry.counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server, by the code of its answer.",
    labels: ["code", "method", "host"],
  }),
  durations: registry.histogram({
    name: "rest_client_request_duration_seconds",
    help: "How long requests to the API server took.",
    labels: ["verb", "host"],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  }),
});

/** Requests to the API server, as client-go counts them. */
import type { Registry } from "../../base/metrics/registry.ts";

export type ApiMetrics = ReturnType<typeof apiMetrics>;

export const apiMetrics = (registry: Registry) => ({
  requests: registry.counter({
    name: "rest_client_requests_total",
    help: "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
    labels: ["code", "method", "host"],
  }),
  durations: registry.histogram({
    name: "rest_client_request_duration_seconds",
    help: "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
    labels: ["verb", "host"],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  }),
});

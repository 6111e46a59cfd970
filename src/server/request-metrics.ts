/** Metrics of requests: how many, how long, and how many are in progress. */
import type { ServerMetrics } from "../domain/metrics/server-metrics.ts";
import type { RequestLabels, RequestObserver } from "./request-observer.ts";

const valuesOf = ({ method, bucket, serverType, longRunning }: RequestLabels) =>
  [method, bucket, serverType, String(longRunning)] as const;

export const requestMetrics = ({ requests, durations, underWay }: ServerMetrics): RequestObserver => ({
  onAsked(labels) {
    const values = valuesOf(labels);
    requests.increment(...values);
    underWay.add(1, ...values);
  },
  onAnswered({ ms, ...labels }) {
    const values = valuesOf(labels);
    underWay.add(-1, ...values);
    durations.observe(ms / 1000, ...values);
  },
});

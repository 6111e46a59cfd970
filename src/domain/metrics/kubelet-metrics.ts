/**
 * Everything that this kubelet counts while it works, in one registry, and the metrics of its probes in another.
 * Metrics that are only read on request are added in `app/compose-metrics.ts`.
 */
import { Registry } from "../../base/metrics/registry.ts";
import { apiMetrics } from "./api-metrics.ts";
import { evictionMetrics } from "./eviction-metrics.ts";
import { imageMetrics } from "./image-metrics.ts";
import { nodeMetrics } from "./node-metrics.ts";
import { podMetrics } from "./pod-metrics.ts";
import { probeMetrics } from "./probe-metrics.ts";
import { queueMetrics } from "./queue-metrics.ts";
import { resizeMetrics } from "./resize-metrics.ts";
import { plegMetrics, runtimeMetrics } from "./runtime-metrics.ts";
import { serverMetrics } from "./server-metrics.ts";
import { streamMetrics } from "./stream-metrics.ts";
import { volumeMetrics } from "./volume-metrics.ts";

export type KubeletMetrics = ReturnType<typeof kubeletMetrics>;

/** `nowMs`: the monotonic clock. */
export function kubeletMetrics(nowMs: () => number) {
  const registry = new Registry();
  const probeRegistry = new Registry();
  return {
    registry,
    pods: podMetrics(registry),
    resizes: resizeMetrics(registry),
    runtime: runtimeMetrics(registry),
    pleg: plegMetrics(registry),
    images: imageMetrics(registry),
    evictions: evictionMetrics(registry),
    volumes: volumeMetrics(registry),
    node: nodeMetrics(registry),
    api: apiMetrics(registry),
    server: serverMetrics(registry),
    streams: streamMetrics(registry),
    queue: queueMetrics(registry, nowMs),
    /** Served at a separate endpoint. */
    probeRegistry,
    probes: probeMetrics(probeRegistry),
  };
}

/** Metrics of streams to containers: exec, attach and port-forward. */
import type { Registry } from "../../base/metrics/registry.ts";

export type StreamMetrics = ReturnType<typeof streamMetrics>;

export const streamMetrics = (registry: Registry) => ({
  webSockets: registry.counter({
    name: "kubelet_websocket_streaming_requests_total",
    help: "[ALPHA] Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.",
    labels: ["subresource"],
  }),
  open: registry.gauge({
    name: "deckhand_streams_open",
    help: "Number of open exec, attach and port-forward streams.",
    labels: ["verb"],
  }),
  closed: registry.counter({
    name: "deckhand_streams_closed_total",
    help: "Number of ended exec, attach and port-forward streams, by the reason of their end.",
    labels: ["carried", "reason", "verb"],
  }),
});

/** Streams to containers: exec, attach and port-forward. */
import type { Registry } from "../../base/metrics/registry.ts";

export type StreamMetrics = ReturnType<typeof streamMetrics>;

export const streamMetrics = (registry: Registry) => ({
  webSockets: registry.counter({
    name: "kubelet_websocket_streaming_requests_total",
    help: "Streams to containers that were asked for over WebSockets.",
    labels: ["subresource"],
  }),
  open: registry.gauge({
    name: "deckhand_streams_open",
    help: "Streams of exec, attach and port-forward that are open.",
    labels: ["verb"],
  }),
  closed: registry.counter({
    name: "deckhand_streams_closed_total",
    help: "Streams of exec, attach and port-forward that have ended, by who or what ended them.",
    labels: ["carried", "reason", "verb"],
  }),
});

/** Metrics of the node: cgroup operations, and how long the node took to be ready. */
import type { Registry } from "../../base/metrics/registry.ts";
import { QUICK_SECONDS } from "./buckets.ts";

export type NodeMetrics = ReturnType<typeof nodeMetrics>;

export const nodeMetrics = (registry: Registry) => ({
  cgroupOperations: registry.histogram({
    name: "kubelet_cgroup_manager_duration_seconds",
    help: "[ALPHA] Duration in seconds for cgroup manager operations. Broken down by method.",
    labels: ["operation_type"],
    buckets: QUICK_SECONDS,
  }),
  startup: {
    /** When registration was first attempted; undefined before that. */
    attemptWallMs: undefined as number | undefined,
    beforeUs: registry.gauge({
      name: "kubelet_node_startup_pre_kubelet_duration_seconds",
      help: "[ALPHA] Duration in seconds of node startup before kubelet starts.",
      labels: [],
    }),
    beforeRegistration: registry.gauge({
      name: "kubelet_node_startup_pre_registration_duration_seconds",
      help: "[ALPHA] Duration in seconds of node startup before registration.",
      labels: [],
    }),
    registration: registry.gauge({
      name: "kubelet_node_startup_registration_duration_seconds",
      help: "[ALPHA] Duration in seconds of node startup during registration.",
      labels: [],
    }),
    afterRegistration: registry.gauge({
      name: "kubelet_node_startup_post_registration_duration_seconds",
      help: "[ALPHA] Duration in seconds of node startup after registration.",
      labels: [],
    }),
    whole: registry.gauge({
      name: "kubelet_node_startup_duration_seconds",
      help: "[ALPHA] Duration in seconds of node startup in total.",
      labels: [],
    }),
  },
});

/** The node and its machine: control groups, and how long it took to be ready. */
import type { Registry } from "../../base/metrics/registry.ts";
import { QUICK_SECONDS } from "./buckets.ts";

export type NodeMetrics = ReturnType<typeof nodeMetrics>;

export const nodeMetrics = (registry: Registry) => ({
  cgroupOperations: registry.histogram({
    name: "kubelet_cgroup_manager_duration_seconds",
    help: "How long it took to make, change or remove a control group.",
    labels: ["operation_type"],
    buckets: QUICK_SECONDS,
  }),
  startup: {
    /** When registration was first tried; undefined before that. */
    attemptWallMs: undefined as number | undefined,
    beforeUs: registry.gauge({
      name: "kubelet_node_startup_pre_kubelet_duration_seconds",
      help: "From the start of the machine to that of this process.",
      labels: [],
    }),
    beforeRegistration: registry.gauge({
      name: "kubelet_node_startup_pre_registration_duration_seconds",
      help: "From the start of this process to the first attempt at registration.",
      labels: [],
    }),
    registration: registry.gauge({
      name: "kubelet_node_startup_registration_duration_seconds",
      help: "From the first attempt at registration to the node being there.",
      labels: [],
    }),
    afterRegistration: registry.gauge({
      name: "kubelet_node_startup_post_registration_duration_seconds",
      help: "From the node being there to its being ready.",
      labels: [],
    }),
    whole: registry.gauge({
      name: "kubelet_node_startup_duration_seconds",
      help: "From the start of the machine to the node being ready.",
      labels: [],
    }),
  },
});

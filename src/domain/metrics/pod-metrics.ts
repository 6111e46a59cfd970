/** Metrics of the pod workers: how often they did what, and how long it took. */
import type { Registry } from "../../base/metrics/registry.ts";
import { growing, POD_START_SECONDS, QUICK_SECONDS } from "./buckets.ts";

export type PodMetrics = ReturnType<typeof podMetrics>;

/** What one run of a pod's worker was about. */
export type WorkerOperation = "create" | "update" | "sync" | "terminated";

export const podMetrics = (registry: Registry) => {
  const restarted = registry.counter({
    name: "kubelet_restarted_pods_total",
    help: "[ALPHA] Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)",
    labels: ["static"],
  });
  for (const isStatic of ["", "true"]) restarted.expect(isStatic);
  return {
    restarted,
    ...starts(registry),
    ...latencies(registry),
    rejected: registry.counter({
      name: "kubelet_admission_rejections_total",
      help: "[ALPHA] Cumulative number pod admission rejections by the Kubelet.",
      labels: ["reason"],
    }),
    preempted: registry.counter({
      name: "kubelet_preemptions",
      help: "[ALPHA] Cumulative number of pod preemptions by preemption resource",
      labels: ["preemption_signal"],
    }),
    terminatedContainers: registry.counter({
      name: "kubelet_terminated_containers_total",
      help: "[ALPHA] Cumulative number of container terminations.",
      labels: ["container_type", "exit_code", "reason"],
    }),
    sleepsCutShort: registry.counter({
      name: "kubelet_sleep_action_terminated_early_total",
      help: "[ALPHA] The number of times lifecycle sleep handler got terminated before it finishes",
      labels: [],
    }),
    plainHooks: registry.counter({
      name: "kubelet_lifecycle_handler_http_fallbacks_total",
      help: "[ALPHA] The number of times lifecycle handlers successfully fell back to http from https.",
      labels: [],
    }),
    orphanedInRuntime: registry.counter({
      name: "kubelet_orphaned_runtime_pods_total",
      help: "[ALPHA] Number of pods that have been detected in the container runtime without being already known to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual.",
      labels: [],
    }),
    orphansCleaned: registry.gauge({
      name: "kubelet_orphan_pod_cleaned_volumes",
      help: "[ALPHA] The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.",
      labels: [],
    }),
    orphansNotCleaned: registry.gauge({
      name: "kubelet_orphan_pod_cleaned_volumes_errors",
      help: "[ALPHA] The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.",
      labels: [],
    }),
  };
};

const starts = (registry: Registry) => ({
  startedPods: registry.counter({
    name: "kubelet_started_pods_total",
    help: "[ALPHA] Cumulative number of pods started",
    labels: [],
  }),
  startedPodErrors: registry.counter({
    name: "kubelet_started_pods_errors_total",
    help: "[ALPHA] Cumulative number of errors when starting pods",
    labels: [],
  }),
  startedWithUsers: registry.counter({
    name: "kubelet_started_user_namespaced_pods_total",
    help: "[ALPHA] Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.",
    labels: [],
  }),
  startedWithUsersErrors: registry.counter({
    name: "kubelet_started_user_namespaced_pods_errors_total",
    help: "[ALPHA] Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.",
    labels: [],
  }),
  startedContainers: registry.counter({
    name: "kubelet_started_containers_total",
    help: "[ALPHA] Cumulative number of containers started",
    labels: ["container_type"],
  }),
  startedContainerErrors: registry.counter({
    name: "kubelet_started_containers_errors_total",
    help: "[ALPHA] Cumulative number of errors when starting containers",
    labels: ["container_type", "code"],
    seriesMax: 100,
  }),
  containersPerPod: registry.histogram({
    name: "kubelet_containers_per_pod_count",
    help: "[ALPHA] The number of containers per pod.",
    labels: [],
    buckets: growing(1, 2, 5),
  }),
});

const latencies = (registry: Registry) => ({
  workerTurns: registry.histogram({
    name: "kubelet_pod_worker_duration_seconds",
    help: "[ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync",
    labels: ["operation_type"],
    buckets: QUICK_SECONDS,
  }),
  workerStart: registry.histogram({
    name: "kubelet_pod_worker_start_duration_seconds",
    help: "[ALPHA] Duration in seconds from kubelet seeing a pod to starting a worker.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  start: registry.histogram({
    name: "kubelet_pod_start_duration_seconds",
    help: "[ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run",
    labels: [],
    buckets: POD_START_SECONDS,
  }),
  startSli: registry.histogram({
    name: "kubelet_pod_start_sli_duration_seconds",
    help: "[ALPHA] Duration in seconds to start a pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch",
    labels: [],
    buckets: POD_START_SECONDS,
  }),
  startTotal: registry.histogram({
    name: "kubelet_pod_start_total_duration_seconds",
    help: "[ALPHA] Duration in seconds to start a pod since creation, including time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch",
    labels: [],
    buckets: POD_START_SECONDS,
  }),
  firstNetworkStart: registry.gauge({
    name: "kubelet_first_network_pod_start_sli_duration_seconds",
    help: "[INTERNAL] Duration in seconds to start the first network pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch",
    labels: [],
  }),
  statusSync: registry.histogram({
    name: "kubelet_pod_status_sync_duration_seconds",
    help: "[ALPHA] Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.",
    labels: [],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  }),
});

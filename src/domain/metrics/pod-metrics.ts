/** What the workers did with the pods: how often, and how long it took. */
import type { Registry } from "../../base/metrics/registry.ts";
import { growing, POD_START_SECONDS, QUICK_SECONDS } from "./buckets.ts";

export type PodMetrics = ReturnType<typeof podMetrics>;

/** What a turn of a pod's worker was about. */
export type WorkerOperation = "create" | "update" | "sync" | "terminated";

export const podMetrics = (registry: Registry) => {
  const restarted = registry.counter({
    name: "kubelet_restarted_pods_total",
    help: "Pods that came back under the UID of one that had just gone, as static pods do.",
    labels: ["static"],
  });
  for (const isStatic of ["", "true"]) restarted.expect(isStatic);
  return {
    restarted,
    ...starts(registry),
    ...latencies(registry),
    rejected: registry.counter({
      name: "kubelet_admission_rejections_total",
      help: "Pods that this node did not take, by the reason it gave.",
      labels: ["reason"],
    }),
    preempted: registry.counter({
      name: "kubelet_preemptions",
      help: "Pods that have ended so that a critical one found room, by what there was too little of.",
      labels: ["preemption_signal"],
    }),
    terminatedContainers: registry.counter({
      name: "kubelet_terminated_containers_total",
      help: "Containers that have ended, by the reason and code of their end.",
      labels: ["container_type", "exit_code", "reason"],
    }),
    sleepsCutShort: registry.counter({
      name: "kubelet_sleep_action_terminated_early_total",
      help: "Hooks that only wait and were cut short.",
      labels: [],
    }),
    plainHooks: registry.counter({
      name: "kubelet_lifecycle_handler_http_fallbacks_total",
      help: "Hooks over HTTPS that were answered without TLS, and asked again without it.",
      labels: [],
    }),
    orphanedInRuntime: registry.counter({
      name: "kubelet_orphaned_runtime_pods_total",
      help: "Pods that were found in the runtime and that no source named.",
      labels: [],
    }),
    orphansCleaned: registry.gauge({
      name: "kubelet_orphan_pod_cleaned_volumes",
      help: "Pods that are over whose folders were looked after in the last sweep.",
      labels: [],
    }),
    orphansNotCleaned: registry.gauge({
      name: "kubelet_orphan_pod_cleaned_volumes_errors",
      help: "Pods that are over whose folders could not be removed in the last sweep.",
      labels: [],
    }),
  };
};

const starts = (registry: Registry) => ({
  startedPods: registry.counter({
    name: "kubelet_started_pods_total",
    help: "Sandboxes that were asked for.",
    labels: [],
  }),
  startedPodErrors: registry.counter({
    name: "kubelet_started_pods_errors_total",
    help: "Sandboxes that were asked for and did not come to be.",
    labels: [],
  }),
  startedWithUsers: registry.counter({
    name: "kubelet_started_user_namespaced_pods_total",
    help: "Sandboxes that were to be made with users of their own.",
    labels: [],
  }),
  startedWithUsersErrors: registry.counter({
    name: "kubelet_started_user_namespaced_pods_errors_total",
    help: "Those of them whose pod did not start in one go.",
    labels: [],
  }),
  startedContainers: registry.counter({
    name: "kubelet_started_containers_total",
    help: "Containers whose start was begun.",
    labels: ["container_type"],
  }),
  startedContainerErrors: registry.counter({
    name: "kubelet_started_containers_errors_total",
    help: "Containers whose start was begun and failed, by what it failed of.",
    labels: ["container_type", "code"],
    seriesMax: 100,
  }),
  containersPerPod: registry.histogram({
    name: "kubelet_containers_per_pod_count",
    help: "How many containers the pods have that were taken in.",
    labels: [],
    buckets: growing(1, 2, 5),
  }),
});

const latencies = (registry: Registry) => ({
  workerTurns: registry.histogram({
    name: "kubelet_pod_worker_duration_seconds",
    help: "How long a turn of a pod's worker took, by what it was about.",
    labels: ["operation_type"],
    buckets: QUICK_SECONDS,
  }),
  workerStart: registry.histogram({
    name: "kubelet_pod_worker_start_duration_seconds",
    help: "From a pod being seen for the first time to the first turn of its worker.",
    labels: [],
    buckets: QUICK_SECONDS,
  }),
  start: registry.histogram({
    name: "kubelet_pod_start_duration_seconds",
    help: "From a pod being seen for the first time to its running.",
    labels: [],
    buckets: POD_START_SECONDS,
  }),
  startSli: registry.histogram({
    name: "kubelet_pod_start_sli_duration_seconds",
    help: "From the creation of a pod to its containers being reported as started and that being seen, without the pulls of its images and its init containers.",
    labels: [],
    buckets: POD_START_SECONDS,
  }),
  startTotal: registry.histogram({
    name: "kubelet_pod_start_total_duration_seconds",
    help: "From the creation of a pod to its containers being reported as started and that being seen.",
    labels: [],
    buckets: POD_START_SECONDS,
  }),
  firstNetworkStart: registry.gauge({
    name: "kubelet_first_network_pod_start_sli_duration_seconds",
    help: "What kubelet_pod_start_sli_duration_seconds was for the first pod with a network of its own.",
    labels: [],
  }),
  statusSync: registry.histogram({
    name: "kubelet_pod_status_sync_duration_seconds",
    help: "From a change of a pod to the API server having been told of it.",
    labels: [],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  }),
});

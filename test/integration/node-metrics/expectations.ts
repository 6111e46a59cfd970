/**
 * How a metric family of Deckhand compares with the Go kubelet's after the same load. Every family that both have is in
 * one of these tables: a family in none of them fails the test.
 */

/** Counters and histograms of which every series grows by the same amount. */
export const SAME_GROWTH: readonly string[] = [
  "kubelet_containers_per_pod_count",
  "kubelet_image_pull_duration_seconds",
  "kubelet_image_volume_mounted_errors_total",
  "kubelet_image_volume_mounted_succeed_total",
  "kubelet_image_volume_requested_total",
  "kubelet_lifecycle_handler_http_fallbacks_total",
  "kubelet_orphaned_runtime_pods_total",
  "kubelet_pleg_discard_events",
  "kubelet_pod_worker_start_duration_seconds",
  "kubelet_restarted_pods_total",
  "kubelet_run_podsandbox_duration_seconds",
  "kubelet_sleep_action_terminated_early_total",
  "kubelet_started_containers_total",
  "kubelet_started_pods_errors_total",
  "kubelet_started_pods_total",
  "kubelet_started_user_namespaced_pods_errors_total",
  "kubelet_started_user_namespaced_pods_total",
  "reconstruct_volume_operations_errors_total",
  "reconstruct_volume_operations_total",
];

/** Of these families only the series are compared that this load affects and nothing else. */
export const SAME_GROWTH_OF: Readonly<Record<string, readonly string[]>> = {
  kubelet_runtime_operations_total: ["create_container", "start_container", "run_podsandbox", "pull_image"].map(
    (name) => `operation_type=${name}`,
  ),
  kubelet_runtime_operations_duration_seconds: [
    "create_container",
    "start_container",
    "run_podsandbox",
    "pull_image",
  ].map((name) => `operation_type=${name}`),
  kubelet_pod_worker_duration_seconds: ["operation_type=create"],
  kubelet_cgroup_manager_duration_seconds: ["operation_type=create"],
  // The Go kubelet counts the termination of a deleted pod's container twice if it forgets the status before the last
  // update.
  kubelet_terminated_containers_total: ["exit_code=0,reason=Completed", "exit_code=7,reason=Error"].map(
    (end) => `container_type=container,${end}`,
  ),
};

/** Families that grow at each agent's own pace; the test requires only that they grow. */
export const OWN_PACE: Readonly<Record<string, string>> = {
  kubelet_http_requests_duration_seconds: "by who asks",
  kubelet_http_requests_total: "by who asks",
  kubelet_pleg_pod_relist_duration_seconds:
    "a pod is looked at when something is known to have happened, by the Go kubelet after some of its acts",
  kubelet_pod_start_duration_seconds: "the Go kubelet observes the same start again until its status is told",
  kubelet_pod_start_sli_duration_seconds:
    "a container that ended before anybody could see it run is not counted, and who sees it is a race",
  kubelet_pod_start_total_duration_seconds: "as the one before",
  kubelet_pod_status_sync_duration_seconds: "one per patch, and there are fewer",
  process_cpu_seconds_total: "by what each takes",
  process_network_receive_bytes_total: "by what each says",
  process_network_transmit_bytes_total: "by what each says",
  rest_client_request_duration_seconds: "by how often each asks",
  rest_client_requests_total: "by how often each asks",
  storage_operation_duration_seconds:
    "the Go kubelet writes files again every minute, and checks attachments that are none",
  workqueue_adds_total: "of other queues",
  workqueue_queue_duration_seconds: "of other queues",
  workqueue_work_duration_seconds: "of other queues",
};

/** Families that this load does not, or not always, grow on Deckhand. */
export const STILL: Readonly<Record<string, string>> = {
  kubelet_pleg_relist_duration_seconds: "as the next",
  kubelet_pleg_relist_interval_seconds: "listed every half minute: the load may be over before the second list",
  kubelet_container_requested_resizes_total: "nobody asks for other resources",
  kubelet_pod_deferred_accepted_resizes_total: "as the one before",
  kubelet_pod_infeasible_resizes_total: "as the one before",
  kubelet_pod_resize_duration_milliseconds: "the Go kubelet measures a look at each start as a resize",
  workqueue_retries_total: "of other queues",
};

/** Gauges that are equal once both agents are idle. */
export const SAME_VALUE: readonly string[] = [
  "kubelet_active_pods",
  "kubelet_pod_in_progress_resizes",
  "kubelet_desired_pods",
  "kubelet_managed_ephemeral_containers",
  "kubelet_mirror_pods",
  "kubelet_orphan_pod_cleaned_volumes_errors",
  "kubelet_running_pods",
  "kubelet_working_pods",
  "kubernetes_feature_enabled",
  "volume_manager_total_volumes",
];

/** Gauges that differ between the agents, and their bounds. */
export const OWN_VALUE: Readonly<Record<string, readonly [atLeast: number, atMost: number]>> = {
  kubelet_container_log_filesystem_used_bytes: [0, 1e6],
  kubelet_first_network_pod_start_sli_duration_seconds: [0, 120],
  kubelet_http_inflight_requests: [0, 2],
  // The Go kubelet sets the metric before or after registering it, in no fixed order; a value set before is lost.
  kubelet_metrics_provider: [1, 1],
  kubelet_node_name: [1, 1],
  kubelet_node_startup_duration_seconds: [1, 1e9],
  kubelet_node_startup_post_registration_duration_seconds: [0, 60],
  kubelet_node_startup_pre_kubelet_duration_seconds: [1, 1e9],
  kubelet_node_startup_pre_registration_duration_seconds: [0, 60],
  kubelet_node_startup_registration_duration_seconds: [0, 60],
  kubelet_orphan_pod_cleaned_volumes: [0, 10],
  kubelet_pleg_last_seen_seconds: [1e9, 1e11],
  // The Go kubelet keeps the last count of a state that no container has any more.
  kubelet_running_containers: [0, 10],
  kubernetes_build_info: [1, 1],
  process_open_fds: [3, 1e4],
  process_resident_memory_bytes: [1e7, 1e9],
  process_start_time_seconds: [1e9, 1e11],
  process_virtual_memory_bytes: [1e7, 1e14],
  workqueue_depth: [0, 100],
  workqueue_longest_running_processor_seconds: [0, 600],
  workqueue_unfinished_work_seconds: [0, 600],
};

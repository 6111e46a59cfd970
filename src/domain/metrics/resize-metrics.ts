/** Metrics of the resizes that running pods request, and of their results. */
import type { Reading, Registry } from "../../base/metrics/registry.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";

export type ResizeMetrics = ReturnType<typeof resizeMetrics>;

export const resizeMetrics = (registry: Registry) => ({
  requested: registry.counter({
    name: "kubelet_container_requested_resizes_total",
    help: "[ALPHA] Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
    labels: ["resource", "requirement", "operation"],
  }),
  duration: registry.histogram({
    name: "kubelet_pod_resize_duration_milliseconds",
    help: "[ALPHA] Duration in milliseconds to actuate a pod resize",
    labels: ["success"],
    buckets: [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
  }),
  infeasible: registry.counter({
    name: "kubelet_pod_infeasible_resizes_total",
    help: "[ALPHA] Number of infeasible resizes for pods.",
    labels: ["reason_detail"],
  }),
  deferredAccepted: registry.counter({
    name: "kubelet_pod_deferred_accepted_resizes_total",
    help: "[ALPHA] Cumulative number of resizes that were accepted after being deferred.",
    labels: ["retry_trigger"],
  }),
});

/** How many pods wait for a resize, by whether it is deferred or infeasible. */
export function pendingResizeCounts(admitted: readonly AdmittedPod[]): readonly Reading<readonly ["reason"]>[] {
  const counts = new Map<string, number>();
  for (const { resize } of admitted) {
    const reason = resize?.pending?.reason.toLowerCase();
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => [count, reason]);
}

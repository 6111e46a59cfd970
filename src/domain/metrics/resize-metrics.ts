/** What pods asked for while they ran, and what became of it. */
import type { Reading, Registry } from "../../base/metrics/registry.ts";
import type { AdmittedPod } from "../pod/admitted-pod.ts";

export type ResizeMetrics = ReturnType<typeof resizeMetrics>;

export const resizeMetrics = (registry: Registry) => ({
  requested: registry.counter({
    name: "kubelet_container_requested_resizes_total",
    help: "Changes of what a container may have, by resource, by whether it is requested or limited, and by what becomes of it.",
    labels: ["resource", "requirement", "operation"],
  }),
  duration: registry.histogram({
    name: "kubelet_pod_resize_duration_milliseconds",
    help: "How long it took to carry out a pod's resize, by whether that went well.",
    labels: ["success"],
    buckets: [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
  }),
  infeasible: registry.counter({
    name: "kubelet_pod_infeasible_resizes_total",
    help: "Resizes that this node can never carry out, by why.",
    labels: ["reason_detail"],
  }),
  deferredAccepted: registry.counter({
    name: "kubelet_pod_deferred_accepted_resizes_total",
    help: "Resizes that were granted after they had to wait, by what they were tried again for.",
    labels: ["retry_trigger"],
  }),
});

/** How many pods wait for what their specs want, by whether they wait in vain. */
export function pendingResizeCounts(admitted: readonly AdmittedPod[]): readonly Reading<readonly ["reason"]>[] {
  const counts = new Map<string, number>();
  for (const { resize } of admitted) {
    const reason = resize?.pending?.reason.toLowerCase();
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => [count, reason]);
}

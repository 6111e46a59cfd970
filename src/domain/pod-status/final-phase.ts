/** The final phase of a pod, after its containers have terminated. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { containerStatuses } from "./container-statuses.ts";
import { podPhase } from "./phase.ts";

export function finalPhase(pod: Pod, view: PodRuntimeView, lifecycle: PodLifecycle): "Succeeded" | "Failed" {
  if (lifecycle.kind !== "running" && lifecycle.why.kind === "failed") return "Failed";
  const inputs = {
    pod,
    view,
    runtimeName: "",
    waiting: new Map(),
    messages: new Map(),
    recursiveReadOnly: false,
    ready: () => ({ ready: false, started: false }),
  };
  const statuses = containerStatuses(inputs, pod.status ?? {});
  return podPhase(pod, statuses, view, lifecycle) === "Succeeded" ? "Succeeded" : "Failed";
}

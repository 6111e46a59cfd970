/** The phase a pod ends in, once its containers have ended. */
import type { Pod } from "../../api/gen/core-v1.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import type { PodRuntimeView } from "../pod/runtime-view.ts";
import { containerStatus } from "./container-status.ts";
import { podPhase } from "./phase.ts";

export function finalPhase(pod: Pod, view: PodRuntimeView, lifecycle: PodLifecycle): "Succeeded" | "Failed" {
  if (lifecycle.kind !== "running" && lifecycle.why.kind === "failed") return "Failed";
  const inputs = {
    pod,
    view,
    runtimeName: "",
    waiting: new Map(),
    messages: new Map(),
    ready: () => ({ ready: false, started: false }),
  };
  const previous = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
  const statuses = (pod.spec?.containers ?? []).map((container) =>
    containerStatus(container, previous.get(container.name), inputs),
  );
  return podPhase(pod, statuses, lifecycle) === "Succeeded" ? "Succeeded" : "Failed";
}

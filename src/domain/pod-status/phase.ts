/** A pod's phase, from its containers. A terminal phase never changes again, and none is said while a container may still run. */
import type { ContainerStatus, Pod } from "../../api/gen/core-v1.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import { restartPolicyOf } from "../pod/restart-policy.ts";

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

export const isTerminal = (phase: string | undefined): phase is "Succeeded" | "Failed" =>
  phase === "Succeeded" || phase === "Failed";

export function podPhase(pod: Pod, statuses: readonly ContainerStatus[], lifecycle: PodLifecycle): Phase {
  const count = { running: 0, waiting: 0, succeeded: 0, failed: 0 };
  for (const status of statuses) count[kindOf(status)] += 1;
  const stopped = count.succeeded + count.failed;
  if (count.waiting > 0) return "Pending";
  if (count.running > 0) return "Running";
  if (stopped === 0) return "Pending";
  const ended = lifecycle.kind === "terminated" || lifecycle.kind === "finished";
  if (ended) return count.failed === 0 ? "Succeeded" : "Failed";
  const policy = restartPolicyOf(pod);
  if (policy === "Always") return "Running";
  if (count.failed === 0) return "Succeeded";
  return policy === "Never" ? "Failed" : "Running";
}

function kindOf({ state, lastState }: ContainerStatus): "running" | "waiting" | "succeeded" | "failed" {
  if (state?.running !== undefined) return "running";
  // Waiting for its next run is not waiting for the first.
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended === undefined) return "waiting";
  return state?.terminated !== undefined && ended.exitCode === 0 ? "succeeded" : "failed";
}

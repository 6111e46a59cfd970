/**
 * Computes a pod's phase from its containers. A terminal phase never changes, and none is reported while a container
 * may still run.
 */

import type { Container, ContainerStatus, Pod } from "../../api/gen/core-v1.ts";
import { isSidecar } from "../pod/containers.ts";
import type { PodLifecycle } from "../pod/pod-lifecycle.ts";
import { hasEnded } from "../pod/pod-lifecycle.ts";
import { RESTARTING_ALL } from "../pod/restart-all.ts";
import { restartsAfter } from "../pod/restart-policy.ts";
import { instancesOf, type PodRuntimeView } from "../pod/runtime-view.ts";
import type { ContainerStatuses } from "./container-statuses.ts";

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

export const isTerminal = (phase: string | undefined): phase is "Succeeded" | "Failed" =>
  phase === "Succeeded" || phase === "Failed";

export function podPhase(pod: Pod, statuses: ContainerStatuses, view: PodRuntimeView, lifecycle: PodLifecycle): Phase {
  const containers = pod.spec?.initContainers ?? [];
  const init = containers.filter((container) => !isSidecar(container)).map((one) => standOf(one, pod, statuses.init));
  const sidecars = containers.filter(isSidecar).map((one) => standOf(one, pod, statuses.init));
  const regular = (pod.spec?.containers ?? []).map((one) => standOf(one, pod, statuses.regular));
  if (init.some(({ kind, restarts }) => kind === "failed" && !restarts)) return "Failed";
  // A terminated sidecar does not count: either it restarts or the pod has terminated.
  const isSetUp =
    hasRun(pod, view) || sidecars.every(({ kind, started }) => (kind === "running" ? started : kind !== "waiting"));
  const waits = [...regular, ...sidecars].some(({ kind }) => kind === "waiting");
  if (waits || !isSetUp || init.some(({ kind }) => kind === "running" || kind === "waiting")) return "Pending";
  if ([...regular, ...sidecars].some(({ kind }) => kind === "running")) return "Running";
  if (regular.length === 0) return "Pending";
  if (!hasEnded(lifecycle) && regular.some(({ restarts }) => restarts)) return "Running";
  return regular.every(({ kind }) => kind === "succeeded") ? "Succeeded" : "Failed";
}

interface Stand {
  readonly kind: "running" | "waiting" | "succeeded" | "failed";
  readonly started: boolean;
  /** The container has terminated and will restart. */
  readonly restarts: boolean;
}

function standOf(container: Container, pod: Pod, statuses: readonly ContainerStatus[]): Stand {
  const { state, lastState, started = false } = statuses.find(({ name }) => name === container.name) ?? {};
  if (state?.running !== undefined) return { kind: "running", started, restarts: false };
  // A container that waits for its next run is not waiting for its first.
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended === undefined) return { kind: "waiting", started, restarts: false };
  const isSuccess = state?.terminated !== undefined && ended.exitCode === 0;
  const restarts = ended.reason === RESTARTING_ALL.reason || restartsAfter(pod, container, ended.exitCode);
  return { kind: isSuccess ? "succeeded" : "failed", started, restarts };
}

/**
 * Whether a regular container has run in the current sandbox. If so, the pod was initialized, whatever happens to its
 * sidecars.
 */
function hasRun({ spec }: Pod, view: PodRuntimeView): boolean {
  const [sandbox] = view.sandboxes;
  return (spec?.containers ?? []).some(({ name }) =>
    instancesOf(view, name).some(
      ({ state, sandboxId }) => sandboxId === sandbox?.id && (state === "running" || state === "exited"),
    ),
  );
}

/**
 * Removes containers and sandboxes that the runtime still lists as running although they were stopped and no process of
 * the pod is left. A runtime that missed an exit during a stop lists them forever. They are removed after a minute, and
 * the pod gets an event.
 */
import { settleAll } from "../../concurrency/settle-all.ts";
import { mayRun, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { podEventEmitter } from "./event-emitter.ts";
import type { PodState } from "./pod-state.ts";
import type { WorkerContext } from "./worker-options.ts";

const STALE_AFTER_MS = 60_000;

/**
 * Returns true if parts were removed and the runtime should be inspected again. Call it repeatedly while a stopped pod
 * is listed as running.
 */
export async function removeStaleContainers(
  state: PodState,
  view: PodRuntimeView,
  { ports, settings: { resources } }: Pick<WorkerContext, "ports" | "settings">,
  signal: AbortSignal,
): Promise<boolean> {
  const { pod } = state;
  const { cgroups, clock, runtime } = ports;
  // Without the pod object its cgroup is unknown.
  if (pod === undefined) return false;
  const pids = await cgroups.processes(resources.podCgroupName(pod));
  if (pids.length > 0) {
    state.termination.emptySinceMonotonicMs = undefined;
    return false;
  }
  const nowMs = clock.monotonicMs();
  state.termination.emptySinceMonotonicMs ??= nowMs;
  if (nowMs - state.termination.emptySinceMonotonicMs < STALE_AFTER_MS) return false;
  const containers = view.containers.filter(mayRun);
  const sandboxes = view.sandboxes.filter(({ state: is }) => is === "ready");
  const names = containers.map(({ metadata: { name } }) => name);
  const what = [...names.map((name) => `container ${name}`), ...sandboxes.map(() => "the sandbox")].join(", ");
  const message = `error killing pod: ${what} still listed as running a minute after the last process ended, removed`;
  podEventEmitter(pod, ports)("Warning", "FailedKillPod", message);
  await settleAll(containers.map(({ id }) => runtime.removeContainer(id, signal)));
  await settleAll(sandboxes.map(({ id }) => runtime.removeSandbox(id, signal)));
  return true;
}

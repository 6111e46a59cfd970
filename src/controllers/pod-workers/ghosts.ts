/**
 * What a runtime lists as running though it was stopped and no process of the pod is left: a runtime that lost sight of an end in the midst of a stop does so
 * for ever. It is believed for a minute; then what it lists is taken from it, and the pod's owner hears of it.
 */
import { allOf } from "../../concurrency/all-of.ts";
import { mayRun, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { PodState } from "./pod-state.ts";
import { podTeller } from "./tell.ts";
import type { WorkerContext } from "./worker-options.ts";

const BELIEVED_MS = 60_000;

/** True: it was removed, and the runtime is worth another look. To be asked again and again while a pod that was stopped is said to run. */
export async function removeGhosts(
  state: PodState,
  view: PodRuntimeView,
  { ports, settings: { resources } }: Pick<WorkerContext, "ports" | "settings">,
  signal: AbortSignal,
): Promise<boolean> {
  const { pod } = state;
  const { cgroups, clock, runtime } = ports;
  // Of one that no source knows any more there is no saying where its processes are.
  if (pod === undefined) return false;
  const pids = await cgroups.processes(resources.podCgroupName(pod));
  if (pids.length > 0) {
    state.termination.emptySinceMonotonicMs = undefined;
    return false;
  }
  const nowMs = clock.monotonicMs();
  state.termination.emptySinceMonotonicMs ??= nowMs;
  if (nowMs - state.termination.emptySinceMonotonicMs < BELIEVED_MS) return false;
  const containers = view.containers.filter(mayRun);
  const sandboxes = view.sandboxes.filter(({ state: is }) => is === "ready");
  const names = containers.map(({ metadata: { name } }) => name);
  const what = [...names.map((name) => `container ${name}`), ...sandboxes.map(() => "the sandbox")].join(", ");
  const message = `error killing pod: ${what} still listed as running a minute after the last process ended, removed`;
  podTeller(pod, ports)("Warning", "FailedKillPod", message);
  await allOf(containers.map(({ id }) => runtime.removeContainer(id, signal)));
  await allOf(sandboxes.map(({ id }) => runtime.removeSandbox(id, signal)));
  return true;
}

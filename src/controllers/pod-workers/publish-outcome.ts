/** Publishes what a pod's worker knows of its pod in `podOutcomes` when it has changed. */
import { restartingIds } from "../../domain/pod/container-step.ts";
import { resetsOf } from "../../domain/pod/known-exits.ts";
import { asRead } from "../../domain/resize/group-steps.ts";
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import type { PodState } from "./pod-state.ts";
import type { WorkerContext } from "./worker-options.ts";

const NO_IDS: ReadonlySet<string> = new Set();

export function publishOutcome(state: PodState, worker: WorkerContext): void {
  const { uid, pod, lifecycle, view } = state;
  const { waiting, messages, postStartDue, knownExits } = state.containers;
  const { actuated, restarts: restartsForResize } = state.resize;
  const { podOutcomes, probeResults } = worker.cells;
  // Until the runtime was inspected, the published outcome stays.
  if (view === undefined) return;
  // Terminating pods are not resized.
  const resize = lifecycle.kind === "running" ? state.resize.inProgress : undefined;
  const restarting =
    pod === undefined ? NO_IDS : restartingIds({ pod, restartsForResize, verdicts: probeResults }, view);
  const before = podOutcomes.get(uid);
  const resets = resetsOf(view, knownExits);
  const same =
    before?.lifecycle === lifecycle &&
    before.view === view &&
    sameEntries(before.resets, resets) &&
    before.resize === resize &&
    sameIds(before.restarting ?? NO_IDS, restarting) &&
    before.actuated === actuated &&
    sameEntries(before.waiting, waiting) &&
    sameIds(before.postStartDue, postStartDue) &&
    sameEntries(before.messages, messages);
  if (same) return;
  podOutcomes.set(uid, {
    uid,
    lifecycle,
    view,
    waiting: new Map(waiting),
    resets,
    postStartDue: new Set(postStartDue),
    messages: new Map(messages),
    resize,
    restarting,
    actuated,
    group: cgroupValuesOf(state, worker),
  });
}

/** The values that the pod's cgroup is set to, as the kernel reports them. */
function cgroupValuesOf(
  { pod, allocation, resize: { actuated } }: PodState,
  { settings, ports }: WorkerContext,
): CgroupValues | undefined {
  if (pod === undefined || allocation === undefined || actuated.pod === undefined) return undefined;
  const values = settings.resources.podCgroupValues(pod, { ...allocation, resources: actuated.pod });
  return asRead(values, ports.cgroups);
}

const sameEntries = <V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean =>
  a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);

const sameIds = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((id) => b.has(id));

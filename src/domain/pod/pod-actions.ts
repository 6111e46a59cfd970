/**
 * Decides the next actions of one sync of one running pod.
 *
 * Pure: the caller reads the state once into a `PodSnapshot`, this module returns a plan, and
 * `controllers/pod-workers/execute.ts` carries it out. A plan goes as far as can be decided now. After its actions the
 * state is read again and the next plan is made. An action whose reply was lost is therefore found either done or not
 * done.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { planResize, type ResizeAction } from "../resize/actuation.ts";
import {
  awaitsRestart,
  type ContainerAction,
  type ContainerStep,
  decideContainer,
  lastRun,
  type RestartWait,
  rememberedRun,
} from "./container-step.ts";
import { type ContainerStop, type StopReason, stop, stopsOfAll } from "./container-stops.ts";
import { allContainers, ephemeralContainers, regularContainers } from "./containers.ts";
import { initPlan } from "./init-plan.ts";
import type { PodSnapshot } from "./pod-snapshot.ts";
import { type RestartAllStep, restartAllStep } from "./restart-all.ts";
import { restartPolicyOf, runsOnce, shouldRun } from "./restart-policy.ts";
import { anyMayRun, containerNameOf, mayRun, newestOf, type PodRuntimeView } from "./runtime-view.ts";
import { decideSandbox, type SandboxFlaw } from "./sandbox-decision.ts";

export type PodAction =
  /** Creates the pod's directories and its cgroup, in parallel. */
  | { readonly kind: "makeRoom" }
  /** Stops all in parallel, except those that must wait for others. */
  | { readonly kind: "stopContainers"; readonly containers: readonly ContainerStop[] }
  | { readonly kind: "stopSandboxes"; readonly ids: readonly string[] }
  /** Removes containers that were created and never started: a removed container can no longer start. */
  | { readonly kind: "removeUnstarted"; readonly ids: readonly string[] }
  | RestartAllStep
  | { readonly kind: "createSandbox"; readonly attempt: number; readonly replaces: SandboxFlaw }
  /** Updates the pod's cgroup and its running containers to the allocated resources. */
  | ResizeAction
  | ContainerAction;

export interface PodPlan {
  readonly actions: readonly PodAction[];
  /** Containers in CrashLoopBackOff, by name, with the remaining wait. */
  readonly backingOff: ReadonlyMap<string, RestartWait>;
  /** Containers would start if the volumes were ready. */
  readonly awaitsVolumes: boolean;
  /** The allocated resources are not fully actuated yet. */
  readonly isResizing: boolean;
  /** No regular container runs or will ever run again: the pod has completed by itself. */
  readonly completed: boolean;
}

const NO_WAITS: PodPlan["backingOff"] = new Map();
const COMPLETED: PodPlan = {
  actions: [],
  backingOff: NO_WAITS,
  awaitsVolumes: false,
  isResizing: false,
  completed: true,
};

export function computePodActions(snapshot: PodSnapshot): PodPlan {
  const { pod, view } = snapshot;
  const decision = decideSandbox(pod, view);
  if (snapshot.cgroupMissing) return onlyStops(snapshot, { kind: "cgroupMissing" });
  if (decision.kind === "keep") {
    const restart = restartAllStep(pod, view);
    if (restart !== undefined) return onlyThis(restart);
    return containerPlan(snapshot, decision.sandbox.id);
  }

  if (anyMayRun(view)) return onlyStops(snapshot, { kind: "sandboxChanged", flaw: decision.why });
  if (!anythingToRun(snapshot, decision.attempt)) return COMPLETED;
  // A sandbox that is not ready may still hold its IP address. It is stopped before it is replaced; stopping it twice
  // is harmless.
  const old = view.sandboxes.map(({ id }) => id);
  const release: readonly PodAction[] = old.length === 0 ? [] : [{ kind: "stopSandboxes", ids: old }];
  const attempt = Math.max(decision.attempt, snapshot.sandboxFloor);
  // A sandbox takes an IP address of the network: none is created for a pod whose volumes may never be ready.
  const create: readonly PodAction[] =
    snapshot.volumes === "waiting" ? [] : [{ kind: "createSandbox", attempt, replaces: decision.why }];
  return {
    actions: [...release, { kind: "makeRoom" }, ...create],
    backingOff: NO_WAITS,
    awaitsVolumes: snapshot.volumes !== "ready",
    isResizing: false,
    completed: false,
  };
}

/** Whether a new sandbox would have a container to run. */
function anythingToRun(snapshot: PodSnapshot, attempt: number): boolean {
  const { pod, view } = snapshot;
  const containers = regularContainers(pod.spec);
  const isRemembered = containers.some(({ container }) => rememberedRun(snapshot, container.name) !== undefined);
  const ran = view.containers.length > 0 || isRemembered;
  if (restartPolicyOf(pod) === "Never" && ran && (attempt > 0 || isRemembered)) return false;
  return containers.some(
    (containerSpec) =>
      !runsOnce(pod, containerSpec.container) ||
      shouldRun(pod, containerSpec, lastRun(snapshot, containerSpec, undefined)),
  );
}

/** The combined steps of several containers. */
interface CollectedSteps {
  readonly stops: ContainerStop[];
  readonly starts: ContainerAction[];
  readonly backingOff: Map<string, RestartWait>;
}

const noSteps = (): CollectedSteps => ({ stops: [], starts: [], backingOff: new Map() });

function containerPlan(snapshot: PodSnapshot, sandboxId: string): PodPlan {
  const { pod } = snapshot;
  const all = noSteps();
  // Ephemeral containers also start in a pod that does not finish its initialization.
  for (const containerSpec of ephemeralContainers(pod.spec)) {
    collect(all, containerSpec.container.name, decideContainer(snapshot, containerSpec, sandboxId));
  }
  const init = initPlan(snapshot, sandboxId);
  for (const [name, step] of init.steps) collect(all, name, step);
  const completed = init.kind === "failed" || (init.kind === "done" && collectRegular(all, snapshot, sandboxId));
  all.stops.push(...unknownContainers(snapshot));
  if (completed && all.stops.length === 0) return COMPLETED;
  const actions: PodAction[] =
    all.stops.length > 0 ? [{ kind: "stopContainers", containers: asEndOfPod(snapshot, all.stops) }] : [];
  const resize = completed ? undefined : planResize(pod, snapshot.view, sandboxId, snapshot.actuated);
  if (resize !== undefined) actions.push(resize);
  const starts = completed ? [] : untilPostStart(pod, all.starts);
  const awaitsVolumes = starts.length > 0 && snapshot.volumes !== "ready";
  return {
    actions: awaitsVolumes ? actions : [...actions, ...starts],
    backingOff: all.backingOff,
    awaitsVolumes,
    isResizing: resize !== undefined || awaitsRestarts(snapshot, all),
    completed: false,
  };
}

/** Whether containers are being stopped, or were stopped, to restart with other resources. */
const awaitsRestarts = (snapshot: PodSnapshot, { stops }: CollectedSteps): boolean =>
  stops.some(({ reason }) => reason.kind === "resized") ||
  allContainers(snapshot.pod.spec).some(({ name }) => {
    const newest = newestOf(snapshot.view, name);
    return newest !== undefined && awaitsRestart(snapshot, newest);
  });

/**
 * Stopping the last running container of a Never pod for its probe terminates the pod. That stop gets the reason and
 * the grace period of the pod's termination.
 */
function asEndOfPod({ pod, view }: PodSnapshot, stops: readonly ContainerStop[]): readonly ContainerStop[] {
  const stopped = new Set(stops.map(({ id }) => id));
  const goesOn = view.containers.some((container) => mayRun(container) && !stopped.has(container.id));
  if (goesOn || restartPolicyOf(pod) !== "Never") return stops;
  return stops.map((one) => (one.reason.kind === "probeFailed" ? { ...one, reason: { kind: "podEnds" } } : one));
}

/** Returns whether no regular container runs or will ever run again. */
function collectRegular(all: CollectedSteps, snapshot: PodSnapshot, sandboxId: string): boolean {
  let isDone = true;
  for (const containerSpec of regularContainers(snapshot.pod.spec)) {
    const step = decideContainer(snapshot, containerSpec, sandboxId);
    collect(all, containerSpec.container.name, step);
    isDone &&= step.next.kind === "done";
  }
  return isDone;
}

function collect(all: CollectedSteps, name: string, { stops, next }: ContainerStep): void {
  all.stops.push(...stops);
  if (next.kind === "wait") all.backingOff.set(name, next.wait);
  else if (next.kind === "act") all.starts.push(next.action);
}

/** Run a container's postStart hook before starting the next container, also one that the spec names earlier. */
function untilPostStart(pod: Pod, starts: readonly ContainerAction[]): readonly ContainerAction[] {
  const due = starts.find(({ kind }) => kind === "postStart");
  if (due !== undefined) return [due];
  const hooked = new Set(
    allContainers(pod.spec)
      .filter(({ lifecycle }) => lifecycle?.postStart !== undefined)
      .map(({ name }) => name),
  );
  const first = starts.findIndex(({ name }) => hooked.has(name));
  return first < 0 ? starts : starts.slice(0, first + 1);
}

/** Containers of this pod that its spec does not name. */
function unknownContainers({ view, pod }: PodSnapshot): readonly ContainerStop[] {
  const names = new Set(allContainers(pod.spec).map(({ name }) => name));
  return view.containers
    .filter((container) => mayRun(container) && !names.has(containerNameOf(container)))
    .map((container) => stop(container, { kind: "superseded" }));
}

const onlyThis = (action: PodAction): PodPlan => ({
  actions: [action],
  backingOff: NO_WAITS,
  awaitsVolumes: false,
  isResizing: false,
  completed: false,
});

function onlyStops({ view, pod }: PodSnapshot, reason: StopReason): PodPlan {
  const actions = stopEverything(view, pod, reason);
  return { actions, backingOff: NO_WAITS, awaitsVolumes: false, isResizing: false, completed: false };
}

/**
 * The actions that terminate a pod. A start that was requested and then given up may still be under way in the runtime,
 * even after its sandbox has stopped. A runtime refuses to remove a container that it is about to start. A container
 * that could be removed therefore cannot start later.
 */
export function endEverything(view: PodRuntimeView, pod: Pod | undefined): readonly PodAction[] {
  const ids = view.containers.filter(({ state }) => state === "created").map(({ id }) => id);
  const stops = stopEverything(view, pod, { kind: "podEnds" });
  return ids.length === 0 ? stops : [...stops, { kind: "removeUnstarted", ids }];
}

/**
 * Stops all containers, then all sandboxes in any state: only a stopped sandbox is known to have released its IP
 * address.
 */
function stopEverything(view: PodRuntimeView, pod: Pod | undefined, reason: StopReason): readonly PodAction[] {
  const containers = stopsOfAll(pod, view, reason);
  const ids = view.sandboxes.map(({ id }) => id);
  const actions: PodAction[] = [];
  if (containers.length > 0) actions.push({ kind: "stopContainers", containers });
  if (ids.length > 0) actions.push({ kind: "stopSandboxes", ids });
  return actions;
}

/**
 * What one sync of one running pod has to do next.
 *
 * Pure: the caller reads the world once into a `PodSnapshot`, this module answers with a plan and `controllers/pod-workers/execute.ts` carries it
 * out. A plan goes as far as can be decided now; when its actions are done the world is read again and the next plan made, so an action
 * whose reply was lost is simply found done, or not.
 */
import type { Container } from "../../api/gen/core-v1.ts";
import { containerHash } from "./container-hash.ts";
import { CONTAINER_HASH } from "./cri-keys.ts";
import type { PodSnapshot } from "./pod-snapshot.ts";
import { backoffLeftMs, type ExitTime } from "./restart-backoff.ts";
import { restartPolicyOf, shouldRun } from "./restart-policy.ts";
import {
  anyMayRun,
  containerNameOf,
  instancesOf,
  mayRun,
  newestOf,
  type PodContainer,
  restartCountOf,
} from "./runtime-view.ts";
import { decideSandbox, type SandboxFlaw } from "./sandbox-decision.ts";

export type StopReason =
  | { readonly kind: "podEnds" }
  | { readonly kind: "sandboxChanged"; readonly flaw: SandboxFlaw }
  | { readonly kind: "cgroupMissing" }
  | { readonly kind: "definitionChanged" }
  /** An older instance of a container that has a newer one. */
  | { readonly kind: "superseded" }
  /** The runtime does not know whether it runs; stopped once, it is known not to. */
  | { readonly kind: "stateUnknown" };

export interface ContainerStop {
  readonly id: string;
  readonly name: string;
  readonly reason: StopReason;
}

export type PodAction =
  /** Its folders and its cgroup, at once. */
  | { readonly kind: "makeRoom" }
  /** All at once. */
  | { readonly kind: "stopContainers"; readonly containers: readonly ContainerStop[] }
  | { readonly kind: "stopSandboxes"; readonly ids: readonly string[] }
  | { readonly kind: "createSandbox"; readonly attempt: number; readonly replaces: SandboxFlaw }
  /** Pulls the image if need be, creates and starts. */
  | {
      readonly kind: "startContainer";
      readonly name: string;
      readonly restartCount: number;
      readonly after: ExitTime | undefined;
    }
  /** Created by a call whose reply was lost. */
  | { readonly kind: "startCreated"; readonly name: string; readonly id: string };

export interface PodPlan {
  readonly actions: readonly PodAction[];
  /** Containers held back by CrashLoopBackOff, by name, with what is left to wait. */
  readonly backingOff: ReadonlyMap<string, { readonly leftMs: number; readonly delayMs: number }>;
  /** Something would start if the volumes were there. */
  readonly awaitsVolumes: boolean;
  /** Nothing runs and nothing ever will again: the pod has come to its end by itself. */
  readonly completed: boolean;
}

export function computePodActions(snapshot: PodSnapshot): PodPlan {
  const { pod, view } = snapshot;
  const decision = decideSandbox(pod, view);
  if (snapshot.cgroupMissing) return onlyStops(snapshot, { kind: "cgroupMissing" });
  if (decision.kind === "keep") return containerPlan(snapshot, decision.sandbox.id);

  if (anyMayRun(view)) return onlyStops(snapshot, { kind: "sandboxChanged", flaw: decision.why });
  if (!anythingToRun(snapshot, decision.attempt))
    return { actions: [], backingOff: new Map(), awaitsVolumes: false, completed: true };
  // A sandbox that is not ready may still hold its address: it is stopped, which may be done twice, before it is replaced.
  const old = view.sandboxes.map(({ id }) => id);
  const release: readonly PodAction[] = old.length === 0 ? [] : [{ kind: "stopSandboxes", ids: old }];
  const attempt = Math.max(decision.attempt, snapshot.sandboxFloor);
  // A sandbox takes an address of the network: none for a pod whose volumes may never come.
  const create: readonly PodAction[] = snapshot.volumesReady
    ? [{ kind: "createSandbox", attempt, replaces: decision.why }]
    : [];
  return {
    actions: [...release, { kind: "makeRoom" }, ...create],
    backingOff: new Map(),
    awaitsVolumes: !snapshot.volumesReady,
    completed: false,
  };
}

/** Whether a new sandbox would have a container to run in it. */
function anythingToRun(snapshot: PodSnapshot, attempt: number): boolean {
  const { pod, view } = snapshot;
  const policy = restartPolicyOf(pod);
  const containers = pod.spec?.containers ?? [];
  const isRemembered = containers.some(({ name }) => rememberedRun(snapshot, name) !== undefined);
  const ran = view.containers.length > 0 || isRemembered;
  if (policy === "Never" && ran && (attempt > 0 || isRemembered)) return false;
  return containers.some(({ name }) => policy !== "OnFailure" || shouldRun(policy, lastRun(snapshot, name)));
}

function containerPlan(snapshot: PodSnapshot, sandboxId: string): PodPlan {
  const containers = snapshot.pod.spec?.containers ?? [];
  const stops: ContainerStop[] = [];
  const starts: PodAction[] = [];
  const backingOff = new Map<string, { leftMs: number; delayMs: number }>();
  let kept = 0;
  for (const container of containers) {
    const step = decideContainer(snapshot, container, sandboxId);
    stops.push(...step.stops);
    if (step.next === "keep") kept += 1;
    else if (step.next === "wait") backingOff.set(container.name, step.wait);
    else if (step.next !== "done") starts.push(step.next);
  }
  stops.push(...strangers(snapshot, new Set(containers.map(({ name }) => name))));
  const completed = kept === 0 && starts.length === 0 && backingOff.size === 0 && stops.length === 0;
  const actions: PodAction[] = stops.length > 0 ? [{ kind: "stopContainers", containers: stops }] : [];
  const awaitsVolumes = starts.length > 0 && !snapshot.volumesReady;
  return { actions: awaitsVolumes ? actions : [...actions, ...starts], backingOff, awaitsVolumes, completed };
}

type ContainerStep = { readonly stops: readonly ContainerStop[] } & (
  | { readonly next: "keep" | "done" | PodAction }
  | { readonly next: "wait"; readonly wait: { readonly leftMs: number; readonly delayMs: number } }
);

function decideContainer(snapshot: PodSnapshot, container: Container, sandboxId: string): ContainerStep {
  const { view, pod } = snapshot;
  const { name } = container;
  const [newest, ...older] = instancesOf(view, name);
  const superseded = older.filter(mayRun).map((old) => stop(old, { kind: "superseded" }));
  if (newest !== undefined && mayRun(newest)) {
    const reason = reasonToStop(newest, container, sandboxId);
    if (reason === undefined) return { stops: superseded, next: "keep" };
    // What takes its place is decided when it is known to have ended.
    return { stops: [...superseded, stop(newest, reason)], next: "keep" };
  }
  if (newest?.state === "created" && newest.sandboxId === sandboxId && containerHashMatches(container, newest)) {
    return { stops: superseded, next: { kind: "startCreated", name, id: newest.id } };
  }
  if (!shouldRun(restartPolicyOf(pod), lastRun(snapshot, name)) && !definitionChanged(newest, container)) {
    return { stops: superseded, next: "done" };
  }
  const exit = exitTime(snapshot, newest);
  const entry = snapshot.backoffs.get(name);
  const leftMs = exit === undefined ? 0 : backoffLeftMs(entry, exit);
  if (leftMs > 0) return { stops: superseded, next: "wait", wait: { leftMs, delayMs: entry?.delayMs ?? 0 } };
  const restartCount = nextRestartCount(snapshot, name, newest);
  return { stops: superseded, next: { kind: "startContainer", name, restartCount, after: exit } };
}

/** An ended container of another image is no run of this one. */
const definitionChanged = (newest: PodContainer | undefined, container: Container) =>
  newest?.state === "exited" && !containerHashMatches(container, newest);

function reasonToStop(running: PodContainer, container: Container, sandboxId: string): StopReason | undefined {
  if (running.state === "unknown") return { kind: "stateUnknown" };
  if (running.sandboxId !== sandboxId) return { kind: "sandboxChanged", flaw: "notReady" };
  return containerHashMatches(container, running) ? undefined : { kind: "definitionChanged" };
}

type Run = Pick<PodContainer, "state" | "exitCode">;

const lastRun = (snapshot: PodSnapshot, name: string): Run | undefined =>
  newestOf(snapshot.view, name) ?? rememberedRun(snapshot, name);

/** The exit code of a run whose end nobody saw. */
const UNSEEN_EXIT_CODE = 137;

/** A run that is known of though the runtime has forgotten it: from the journal, or because it was published. */
function rememberedRun({ pod, knownExits }: PodSnapshot, name: string): Run | undefined {
  const known = knownExits.get(name);
  if (known !== undefined) return { state: "exited", exitCode: known.exitCode };
  const published = pod.status?.containerStatuses?.find((status) => status.name === name)?.state;
  if (published?.running === undefined && published?.terminated === undefined) return undefined;
  return { state: "exited", exitCode: published.terminated?.exitCode ?? UNSEEN_EXIT_CODE };
}

function exitTime(snapshot: PodSnapshot, newest: PodContainer | undefined): ExitTime | undefined {
  if (newest?.finishedWallNs === undefined) return undefined;
  const finishedWallMs = Number(newest.finishedWallNs / 1_000_000n);
  const seen = snapshot.exitSeenMonotonicMs.get(newest.id);
  const seenAgeMs = seen === undefined ? 0 : snapshot.monotonicMs - seen;
  return { finishedWallMs, ageMs: Math.max(0, snapshot.wallMs - finishedWallMs, seenAgeMs) };
}

function nextRestartCount(
  { restartFloor, knownExits }: PodSnapshot,
  name: string,
  newest: PodContainer | undefined,
): number {
  const known = knownExits.get(name);
  const next = newest === undefined ? (known?.restartCount ?? -1) + 1 : restartCountOf(newest) + 1;
  return Math.max(restartFloor.get(name) ?? 0, next);
}

/** Containers of this pod that its spec does not name. */
function strangers({ view, pod }: PodSnapshot, names: ReadonlySet<string>): readonly ContainerStop[] {
  const others = new Set([
    ...(pod.spec?.initContainers ?? []).map(({ name }) => name),
    ...(pod.spec?.ephemeralContainers ?? []).map(({ name }) => name),
  ]);
  return view.containers
    .filter(
      (container) =>
        mayRun(container) && !names.has(containerNameOf(container)) && !others.has(containerNameOf(container)),
    )
    .map((container) => stop(container, { kind: "superseded" }));
}

function onlyStops({ view }: PodSnapshot, reason: StopReason): PodPlan {
  return { actions: stopEverything(view, reason), backingOff: new Map(), awaitsVolumes: false, completed: false };
}

/** All containers, then what they live in, whatever its state: only a stopped sandbox is known to have let go of its address. */
export function stopEverything(view: PodSnapshot["view"], reason: StopReason): readonly PodAction[] {
  const containers = view.containers.filter(mayRun).map((container) => stop(container, reason));
  const ids = view.sandboxes.map(({ id }) => id);
  const actions: PodAction[] = [];
  if (containers.length > 0) actions.push({ kind: "stopContainers", containers });
  if (ids.length > 0) actions.push({ kind: "stopSandboxes", ids });
  return actions;
}

const stop = (container: PodContainer, reason: StopReason): ContainerStop => ({
  id: container.id,
  name: containerNameOf(container),
  reason,
});

/** A mark that cannot be read says nothing: better an old definition than a restart of everything. */
function containerHashMatches(container: Container, instance: PodContainer): boolean {
  const recorded = instance.annotations[CONTAINER_HASH];
  if (recorded === undefined || !/^[0-9a-f]{1,8}$/.test(recorded)) return true;
  return recorded === containerHash(container);
}

/** Decides the next step for one container of a pod whose sandbox is usable. */

import { containerHash } from "../container-config/container-hash.ts";
import { CONTAINER_HASH } from "../container-config/cri-keys.ts";
import { failedProbe } from "../probes/verdicts.ts";
import { mustRestart } from "../resize/actuation.ts";
import { type ContainerStop, type StopReason, stop } from "./container-stops.ts";
import { type ContainerSpec, regularContainers } from "./containers.ts";
import type { PodSnapshot } from "./pod-snapshot.ts";
import { restartsOf } from "./published-status.ts";
import { backoffLeftMs, type ExitTime } from "./restart-backoff.ts";
import { KILLED_EXIT_CODE, type LastRun, runsOnce, shouldRun } from "./restart-policy.ts";
import {
  containerNameOf,
  instancesOf,
  mayRun,
  newestOf,
  type PodContainer,
  type PodRuntimeView,
} from "./runtime-view.ts";

export type ContainerAction =
  /** Pulls the image if necessary, then creates and starts the container. */
  | {
      readonly kind: "startContainer";
      readonly name: string;
      readonly restartCount: number;
      readonly after: ExitTime | undefined;
    }
  /** The container was created by a call whose reply was lost. */
  | { readonly kind: "startCreated"; readonly name: string; readonly id: string }
  /** The container runs, and its postStart hook was not observed to finish. */
  | { readonly kind: "postStart"; readonly name: string; readonly id: string };

export interface RestartWait {
  readonly leftMs: number;
  readonly delayMs: number;
  readonly dueWallMs: number;
  /** Which restart waits, and the exit code of the run before it. */
  readonly restartCount: number;
  readonly exitCode: number;
}

export interface ContainerStep {
  readonly stops: readonly ContainerStop[];
  readonly next:
    | { readonly kind: "keep"; readonly running: PodContainer }
    /** The container has terminated for good. `last` is undefined if its exit is unknown or if it will never run. */
    | { readonly kind: "done"; readonly last: LastRun | undefined }
    | { readonly kind: "act"; readonly action: ContainerAction }
    | { readonly kind: "wait"; readonly wait: RestartWait };
}

export function decideContainer(snapshot: PodSnapshot, containerSpec: ContainerSpec, sandboxId: string): ContainerStep {
  const { view, pod } = snapshot;
  const { name } = containerSpec.container;
  const [newest, ...older] = instancesOf(view, name);
  const superseded = older.filter(mayRun).map((old) => stop(old, { kind: "superseded" }));
  if (newest !== undefined && mayRun(newest)) {
    const reason = reasonToStop(newest, containerSpec, sandboxId, snapshot);
    // Its replacement is decided once its termination is known.
    if (reason !== undefined) return { stops: [...superseded, stop(newest, reason)], next: kept(newest) };
    const isDue = snapshot.postStartDue.has(newest.id);
    return { stops: superseded, next: isDue ? act({ kind: "postStart", name, id: newest.id }) : kept(newest) };
  }
  if (newest?.state === "created" && newest.sandboxId === sandboxId && hashMatches(containerSpec, newest)) {
    return { stops: superseded, next: act({ kind: "startCreated", name, id: newest.id }) };
  }
  const last = lastRun(snapshot, containerSpec, sandboxId);
  const isResized = newest !== undefined && awaitsRestart(snapshot, newest);
  const runsAgain = shouldRun(pod, containerSpec, last) || willRestart(snapshot, containerSpec, newest);
  if (!runsAgain) {
    return { stops: superseded, next: { kind: "done", last } };
  }
  // Containers we stopped for a resize restart without backoff.
  const exit = isResized ? undefined : exitTime(snapshot, newest);
  const entry = snapshot.backoffs.get(name);
  const leftMs = exit === undefined ? 0 : backoffLeftMs(entry, exit);
  const restartCount = nextRestartCount(snapshot, name, newest);
  if (leftMs > 0) {
    const [delayMs, dueWallMs] = [entry?.delayMs ?? 0, snapshot.wallMs + leftMs];
    const wait = { leftMs, delayMs, dueWallMs, restartCount, exitCode: last?.exitCode ?? 0 };
    return { stops: superseded, next: { kind: "wait", wait } };
  }
  return { stops: superseded, next: act({ kind: "startContainer", name, restartCount, after: exit }) };
}

const kept = (running: PodContainer) => ({ kind: "keep", running }) as const;
const act = (action: ContainerAction) => ({ kind: "act", action }) as const;

/**
 * A terminated container with another definition is not a run of this one. A completed init container does not run
 * again, whatever its definition becomes.
 */
const definitionChanged = (newest: PodContainer | undefined, containerSpec: ContainerSpec) =>
  newest?.state === "exited" && containerSpec.role === "regular" && !hashMatches(containerSpec, newest);

interface EndFacts extends Pick<PodSnapshot, "pod" | "restartsForResize"> {
  readonly verdicts: Pick<PodSnapshot["verdicts"], "get">;
}

/**
 * Whether Deckhand caused the container's exit. Such a container restarts whatever its restart policy says about that
 * exit.
 */
const willRestart = (facts: EndFacts, containerSpec: ContainerSpec, newest: PodContainer | undefined): boolean =>
  newest !== undefined &&
  (awaitsRestart(facts, newest) || wasKilled(facts, containerSpec, newest) || definitionChanged(newest, containerSpec));

/** IDs of containers that Deckhand stopped and restarts shortly, although their exit alone would not restart them. */
export const restartingIds = (facts: EndFacts, view: PodRuntimeView): ReadonlySet<string> =>
  new Set(
    regularContainers(facts.pod.spec).flatMap((containerSpec) => {
      const newest = newestOf(view, containerSpec.container.name);
      if (newest?.state !== "exited" || shouldRun(facts.pod, containerSpec, newest)) return [];
      return willRestart(facts, containerSpec, newest) ? [newest.id] : [];
    }),
  );

/** The container was stopped only to restart with other resources, whatever its exit code. */
export const awaitsRestart = (
  { restartsForResize }: Pick<EndFacts, "restartsForResize">,
  instance: PodContainer,
): boolean => instance.state === "exited" && restartsForResize.get(containerNameOf(instance)) === instance.id;

/** Under OnFailure, a container that was killed for a failed probe has failed, even if it exited with 0. */
const wasKilled = (
  { pod, verdicts }: Pick<EndFacts, "pod" | "verdicts">,
  { role, container }: ContainerSpec,
  newest: PodContainer | undefined,
): boolean =>
  role === "regular" &&
  newest?.state === "exited" &&
  runsOnce(pod, container) &&
  failedProbe(verdicts.get(newest.id)) !== undefined;

function reasonToStop(
  running: PodContainer,
  containerSpec: ContainerSpec,
  sandboxId: string,
  { pod, verdicts, actuated }: PodSnapshot,
): StopReason | undefined {
  if (running.state === "unknown") return { kind: "stateUnknown" };
  if (running.sandboxId !== sandboxId) return { kind: "sandboxChanged", flaw: "notReady" };
  if (containerSpec.role !== "regular" && containerSpec.role !== "sidecar") return undefined;
  if (!hashMatches(containerSpec, running)) return { kind: "definitionChanged" };
  const probe = failedProbe(verdicts.get(running.id));
  if (probe !== undefined) return { kind: "probeFailed", probe };
  return mustRestart(pod, containerSpec.container, running, actuated) ? { kind: "resized" } : undefined;
}

/** An unreadable hash annotation is ignored: running an old definition is better than restarting every container. */
function hashMatches({ container }: ContainerSpec, instance: PodContainer): boolean {
  const recorded = instance.annotations[CONTAINER_HASH];
  if (recorded === undefined || !/^[0-9a-f]{1,8}$/.test(recorded)) return true;
  return recorded === containerHash(container);
}

/** An init container that ran in another sandbox has not initialized the current one. */
export function lastRun(
  snapshot: PodSnapshot,
  { role, container }: ContainerSpec,
  sandboxId: string | undefined,
): LastRun | undefined {
  const newest = newestOf(snapshot.view, container.name);
  if (role === "init") return newest?.sandboxId === sandboxId ? newest : undefined;
  return newest ?? rememberedRun(snapshot, container.name);
}

/** The last run of a container that the runtime no longer has, from the journal or from the published status. */
export function rememberedRun({ pod, knownExits }: PodSnapshot, name: string): LastRun | undefined {
  const known = knownExits.get(name);
  if (known?.wasReset === true) return undefined;
  if (known !== undefined) return { state: "exited", exitCode: known.exitCode, reason: known.reason };
  const { containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const published = [...containerStatuses, ...ephemeralContainerStatuses].find((status) => status.name === name)?.state;
  if (published?.running === undefined && published?.terminated === undefined) return undefined;
  const { exitCode = KILLED_EXIT_CODE, reason = "" } = published.terminated ?? {};
  return { state: "exited", exitCode, reason };
}

function exitTime(snapshot: PodSnapshot, newest: PodContainer | undefined): ExitTime | undefined {
  if (newest?.finishedWallNs === undefined) return undefined;
  const finishedWallMs = Number(newest.finishedWallNs / 1_000_000n);
  const seen = snapshot.exitSeenMonotonicMs.get(newest.id);
  const seenAgeMs = seen === undefined ? 0 : snapshot.monotonicMs - seen;
  return { finishedWallMs, ageMs: Math.max(0, snapshot.wallMs - finishedWallMs, seenAgeMs) };
}

function nextRestartCount(
  { initialStatus, restartFloor, knownExits }: PodSnapshot,
  name: string,
  newest: PodContainer | undefined,
): number {
  const known = knownExits.get(name);
  const last = newest === undefined ? (known?.restartCount ?? -1) : restartsOf(newest, initialStatus);
  return Math.max(restartFloor.get(name) ?? 0, last + 1);
}

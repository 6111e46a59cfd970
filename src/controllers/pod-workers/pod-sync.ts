/**
 * Advances one pod through its lifecycle: executes the plan while the pod should run, terminates it when it should end,
 * and publishes the outcome in `podOutcomes`. Each transition is journaled before it takes effect. `pod-workers.ts`
 * decides which pods exist and when they are synced.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { apiTime } from "../../base/timestamp.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { decisionRecord } from "../../domain/journal/records.ts";
import { networkTroubles } from "../../domain/node/runtime-health.ts";
import { actionDecision } from "../../domain/pod/action-decision.ts";
import { DEADLINE_EXCEEDED } from "../../domain/pod/active-deadline.ts";
import { allContainers, containerNamed } from "../../domain/pod/containers.ts";
import { type DesiredLifecycle, nextLifecycle } from "../../domain/pod/next-lifecycle.ts";
import { computePodActions, endEverything, type PodPlan } from "../../domain/pod/pod-actions.ts";
import { causeToText, describeCause, graceLeftMs, type PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { describePod, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { anyMayRun, emptyView } from "../../domain/pod/runtime-view.ts";
import { finalPhase } from "../../domain/pod-status/final-phase.ts";
import { readinessOf, waitingMessage } from "../../domain/volumes/volume-state.ts";
import type { Span } from "../../ports/tracer.ts";
import { containerEventEmitter } from "./event-emitter.ts";
import { type Execution, execute } from "./execute.ts";
import { inPodSpan } from "./pod-spans.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import { publishOutcome } from "./publish-outcome.ts";
import { recordObservation } from "./record-observation.ts";
import { followResize } from "./resize.ts";
import { readSnapshot } from "./snapshot.ts";
import { removeStaleContainers } from "./stale-containers.ts";
import { SandboxNotRequested } from "./start-failure.ts";
import { TerminationStepFailure, TerminationSteps } from "./termination-steps.ts";
import type { PodWorkerCells, PodWorkerPorts, PodWorkerSettings, WorkerContext } from "./worker-options.ts";

/** The delay after a failure; jitter adds up to half. */
export const RETRY_MS = 10_000;
const NETWORK_RETRY_MS = 1_000;
/** A pod that waits this long for its volumes gets an event, repeated at this interval. */
const VOLUMES_PATIENCE_MS = 123_000;
/** More rounds than any pod needs: each container may take two. A plan that never settles is retried later. */
const roundsMax = ({ spec }: Pod): number => 8 + 2 * allContainers(spec).length;

export class PodSync {
  readonly #worker: WorkerContext;
  readonly #ports: PodWorkerPorts;
  readonly #cells: PodWorkerCells;
  readonly #settings: PodWorkerSettings;
  readonly #steps: TerminationSteps;

  constructor(worker: WorkerContext) {
    this.#worker = worker;
    this.#ports = worker.ports;
    this.#cells = worker.cells;
    this.#settings = worker.settings;
    this.#steps = new TerminationSteps(worker.ports, worker.cells.terminationSteps);
  }

  /**
   * Advances the lifecycle as requested, journal first. Returns false if the journal could not be written; nothing is
   * done until it can.
   */
  async transition(state: PodState, desired: DesiredLifecycle, wakeIn: (ms: number) => void): Promise<boolean> {
    const next = nextLifecycle(state.lifecycle, desired, state.pod, this.#ports.clock.monotonicMs());
    if (next === state.lifecycle) return true;
    return this.#applyTransition(state, next, wakeIn);
  }

  async #applyTransition(state: PodState, next: PodLifecycle, wakeIn: (ms: number) => void): Promise<boolean> {
    const common = {
      uid: state.uid,
      pod: nameInJournal(state, this.#cells.podRuntimeStatus.get(state.uid)),
      wallMs: this.#ports.clock.wallMs(),
    };
    try {
      if (next.kind === "terminating") {
        await this.#ports.journal.append({
          kind: "terminating",
          ...common,
          graceSeconds: next.graceSeconds,
          why: causeToText(next.why),
        });
      } else if (next.kind === "terminated" && state.pod !== undefined) {
        await this.#ports.journal.append({
          kind: "terminal",
          ...common,
          phase: finalPhase(state.pod, state.view ?? emptyView(state.uid), next),
        });
      } else if (next.kind === "finished") {
        await this.#ports.journal.append({ kind: "finished", ...common });
      }
    } catch (error) {
      this.#ports.log.error("Failed to write the journal", error, { uid: state.uid });
      wakeIn(this.retryMs());
      return false;
    }
    state.lifecycle = next;
    this.#ports.pulls.forget(state.uid);
    this.#emitDeadlineExceeded(state, next);
    return true;
  }

  #emitDeadlineExceeded({ pod }: PodState, next: PodLifecycle): void {
    if (pod === undefined || next.kind !== "terminating" || next.why.kind !== "failed") return;
    const { reason, message } = DEADLINE_EXCEEDED;
    if (next.why.reason === reason) this.#ports.events.emit(podSubject(pod), "Normal", reason, message);
  }

  async sync(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const { tracer } = this.#ports;
    if (state.lifecycle.kind === "running")
      await inPodSpan(tracer, "syncPod", state, (span) => this.#syncRunning(state, signal, wakeIn, span));
    if (state.lifecycle.kind === "terminating" && !signal.aborted)
      await inPodSpan(tracer, "syncTerminatingPod", state, () => this.#syncTerminating(state, signal, wakeIn));
    if (state.lifecycle.kind === "terminated" && !signal.aborted)
      await inPodSpan(tracer, "syncTerminatedPod", state, () => this.#syncTerminated(state, signal, wakeIn));
  }

  async #syncRunning(
    state: PodState,
    signal: AbortSignal,
    wakeIn: (ms: number) => void,
    span: Pick<Span, "fail">,
  ): Promise<void> {
    const { pod } = state;
    if (pod === undefined) return;
    const { runtimeCache, statusFailures } = this.#cells;
    using permit = this.#settings.starts.permit();
    const seen = statusFailures.get(state.uid) === undefined ? runtimeCache.cached(state.uid) : undefined;
    let view = seen ?? (await runtimeCache.inspect(state.uid, signal));
    for (let round = 0; round < roundsMax(pod); round += 1) {
      await recordObservation(state, view, this.#ports);
      const volumes = readinessOf(pod, this.#cells.mountState.get(state.uid));
      const snapshot = await readSnapshot({ state, pod, view, volumes: volumes.kind }, this.#worker);
      const plan = computePodActions(snapshot);
      this.#noteBackoffs(state, plan.backingOff);
      // A resize that a completed pod did not get is not reported as completed.
      if (!plan.completed) await followResize(state, pod, plan.isResizing, this.#ports);
      const removes = plan.actions.some(({ kind }) => kind === "removeForRestart");
      // Publish the current state before the next step, which may take long. Containers removed only to be restarted
      // are never published as terminated.
      if (!removes) publishOutcome(state, this.#worker);
      if (plan.completed) {
        await this.transition(state, { kind: "end", why: { kind: "completed" } }, wakeIn);
        return;
      }
      const waits = [...plan.backingOff.values()].map(({ leftMs }) => leftMs);
      if (plan.actions.length === 0 && plan.awaitsVolumes) {
        if (this.#awaitVolumes(state, pod, wakeIn)) return;
        continue;
      }
      if (plan.actions.length === 0) {
        wakeIn(Math.min(this.#jittered(this.#settings.resyncMs), ...waits));
        return;
      }
      if (!this.#networkReady(state, wakeIn)) return;
      if (isBackingOff(state, plan)) {
        const leftMs = (state.sandbox.notBeforeMonotonicMs ?? 0) - this.#ports.clock.monotonicMs();
        if (leftMs > 0) return wakeIn(leftMs);
        state.sandbox.notBeforeMonotonicMs = undefined;
        view = await runtimeCache.inspect(state.uid, signal);
        continue;
      }
      await permit.acquire(signal);
      const done = await this.#execute(state, plan.actions, undefined, signal);
      if (done.kind === "aborted") return;
      const againMs =
        done.kind === "done" ? undefined : Math.min(...done.againMs.map((ms) => ms ?? this.retryMs()), ...waits);
      if (againMs !== undefined) wakeIn(againMs);
      if (done.kind === "waiting") return;
      if (done.kind === "failed") {
        if (done.what === "createSandbox" && againMs !== undefined && !(done.error instanceof SandboxNotRequested))
          state.sandbox.notBeforeMonotonicMs = this.#ports.clock.monotonicMs() + againMs;
        span.fail(errorText(done.error), done.error);
        this.#ports.log.error("Failed to execute a pod's plan", done.error, {
          uid: state.uid,
          action: done.what,
        });
        await recordObservation(state, await runtimeCache.inspect(state.uid, signal), this.#ports);
        return;
      }
      view = removes
        ? await runtimeCache.inspect(state.uid, signal)
        : await runtimeCache.refresh(state.uid, done.created, signal);
      if (plan.awaitsVolumes && this.#awaitVolumes(state, pod, wakeIn)) return;
    }
    wakeIn(this.retryMs());
  }

  /**
   * Returns false if the volumes are ready by now. Otherwise the pod is woken when they are, and gets an event when
   * they take too long.
   */
  #awaitVolumes(state: PodState, pod: Pod, wakeIn: (ms: number) => void): boolean {
    const volumes = readinessOf(pod, this.#cells.mountState.get(state.uid));
    if (volumes.kind === "ready") {
      state.sandbox.volumesWait = undefined;
      return false;
    }
    const nowMs = this.#ports.clock.monotonicMs();
    const wait = state.sandbox.volumesWait ?? { sinceMonotonicMs: nowMs, reported: "" };
    const message = waitingMessage(volumes);
    const leftMs = wait.sinceMonotonicMs + VOLUMES_PATIENCE_MS - nowMs;
    const mustEmit = leftMs <= 0 || (volumes.unprocessed.size > 0 && wait.reported !== message);
    if (mustEmit) this.#ports.events.emit(podSubject(pod), "Warning", "FailedMount", message);
    const reported = mustEmit ? message : wait.reported;
    state.sandbox.volumesWait = { sinceMonotonicMs: leftMs <= 0 ? nowMs : wait.sinceMonotonicMs, reported };
    wakeIn(leftMs <= 0 ? VOLUMES_PATIENCE_MS : leftMs);
    return true;
  }

  async #syncTerminating(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const inspect = async () => {
      const view = await this.#cells.runtimeCache.inspect(state.uid, signal);
      await recordObservation(state, view, this.#ports);
      return view;
    };
    const inspectContainers = () => this.#steps.failing(state, "containers", signal, inspect);
    let view = await inspectContainers();
    if (anyMayRun(view) || view.sandboxes.length > 0) {
      publishOutcome(state, this.#worker);
      const { lifecycle } = state;
      const graceMs = lifecycle.kind === "terminating" ? graceLeftMs(lifecycle, this.#ports.clock.monotonicMs()) : 0;
      for (const action of endEverything(view, state.pod)) {
        const step = action.kind === "stopContainers" ? "containers" : "sandbox";
        const done = await this.#steps.within(state, step, signal, async () => {
          const execution = await this.#execute(state, [action], graceMs, signal);
          if (execution.kind === "failed") throw execution.error;
          return execution;
        });
        if (done.kind === "aborted") return;
      }
      view = await inspectContainers();
    }
    // A successful stop is not enough: what the runtime still lists as running has not terminated, unless no process is
    // left.
    await this.#steps.failing(state, "sandbox", signal, async () => {
      if (!anyMayRun(view)) return;
      const isTaken = await removeStaleContainers(state, view, this.#worker, signal);
      if (!isTaken || anyMayRun(await inspect())) throw new Error("containers still run after they were stopped");
    });
    await this.#applyTransition(state, { kind: "terminated", why: causeOf(state.lifecycle) }, wakeIn);
  }

  async #syncTerminated(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    publishOutcome(state, this.#worker);
    // The published outcome starts the unmounts, and the pod is synced again when they are done: memory-backed volumes
    // are charged to the pod's cgroup.
    const { volumesKnown, mountState } = this.#cells;
    if (!volumesKnown.value || mountState.get(state.uid) !== undefined) return this.#steps.begin(state, "volumes");
    const { pod, uid } = state;
    if (pod !== undefined) {
      const name = this.#settings.resources.podCgroupName(pod);
      await this.#steps.within(state, "cgroup", signal, () => this.#ports.cgroups.destroy(name, signal));
    }
    await this.#steps.within(state, "users", signal, () => this.#settings.userNamespaces.release(uid));
    await this.#applyTransition(state, { kind: "finished", why: causeOf(state.lifecycle) }, wakeIn);
  }

  async #execute(
    state: PodState,
    actions: Parameters<typeof execute>[0],
    graceMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Execution> {
    const { pod } = state;
    const [wallMs, name] = [
      this.#ports.clock.wallMs(),
      nameInJournal(state, this.#cells.podRuntimeStatus.get(state.uid)),
    ];
    const decided = JSON.stringify([state.lifecycle.kind, actions]);
    const cause = state.lifecycle.kind === "running" ? undefined : describeCause(state.lifecycle.why);
    for (const action of decided === state.reports.decided ? [] : actions) {
      const decision = actionDecision(action, cause);
      this.#ports.journal.note(decisionRecord({ uid: state.uid, pod: name, wallMs }, decision));
    }
    state.reports.decided = decided;
    using _ = this.#cells.runtimeCache.mutating(state.uid);
    return await execute(
      actions,
      {
        ...this.#worker,
        state,
        pod,
        graceMs,
        onHooks: (areUnderWay) => {
          if (state.lifecycle.kind !== "running") this.#steps.begin(state, areUnderWay ? "hooks" : "containers");
        },
      },
      signal,
    );
  }

  #noteBackoffs(state: PodState, backingOff: PodPlan["backingOff"]): void {
    const { pod } = state;
    if (pod === undefined) return;
    const described = describePod(podNameOfObject(pod));
    for (const [name, { delayMs, dueWallMs, restartCount, exitCode }] of backingOff) {
      const message = `back-off ${seconds(delayMs)} restarting failed container=${name} pod=${described}`;
      if (state.containers.waiting.get(name)?.message === message) continue;
      const progress = `restart ${restartCount} at ${apiTime(dueWallMs)}, after exit code ${exitCode}`;
      state.containers.waiting.set(name, { reason: "CrashLoopBackOff", message, progress });
      const containerSpec = containerNamed(pod.spec, name);
      if (containerSpec === undefined) continue;
      const reported = `Back-off restarting failed container ${name} in pod ${described}`;
      containerEventEmitter(pod, containerSpec, this.#ports)("Warning", "BackOff", reported);
    }
  }

  #networkReady(state: PodState, wakeIn: (ms: number) => void): boolean {
    const { pod } = state;
    const troubles = networkTroubles(this.#cells.runtimeHealth.value);
    if (troubles.length === 0 || pod === undefined || pod.spec?.hostNetwork === true) return true;
    const message = `network is not ready: ${troubles.join(", ")}`;
    this.#ports.events.emit(podSubject(pod), "Warning", "NetworkNotReady", message);
    wakeIn(NETWORK_RETRY_MS);
    return false;
  }

  /** After a failed sync: the delay until the retry, and whether the log does not have this failure yet. */
  failed(state: PodState, error: unknown): { readonly againMs: number; readonly isNew: boolean } {
    if (error instanceof TerminationStepFailure) return this.#steps.failed(state, error);
    return { againMs: this.retryMs(), isNew: true };
  }

  /** Nothing of the pod is left on the node: the next step is to report that. */
  reportRemoved(state: PodState): void {
    if (this.#cells.terminationSteps.get(state.uid)?.step !== "status") this.#steps.begin(state, "status");
  }

  /** Drops the termination steps of a pod that nothing needs any more. */
  forget(uid: string): void {
    this.#steps.forget(uid);
  }

  /** The delay until a failed sync is retried. */
  retryMs(): number {
    return this.#jittered(RETRY_MS);
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#ports.random.fraction() / 2);
  }
}

const causeOf = (lifecycle: PodLifecycle) =>
  lifecycle.kind === "running" ? ({ kind: "completed" } as const) : lifecycle.why;

const seconds = (ms: number) => {
  const total = Math.round(ms / 1000);
  return total < 60 ? `${total}s` : `${Math.floor(total / 60)}m${total % 60}s`;
};

/**
 * A sandbox whose creation failed may still be being created, for example by a previous kubelet process. Wake-ups
 * before the retry delay must not create a second one.
 */
const isBackingOff = ({ sandbox }: PodState, { actions }: PodPlan): boolean =>
  sandbox.notBeforeMonotonicMs !== undefined && actions.some(({ kind }) => kind === "createSandbox");

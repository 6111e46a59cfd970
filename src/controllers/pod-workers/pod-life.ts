/**
 * Brings one pod further along its life: does what the plan says while it is to run, ends it when it is to end, and leaves the outcome in
 * `podOutcomes`. Each step of a life is in the journal before it counts. Which pods there are, and when they turn, is `pod-workers.ts`.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { errorText } from "../../base/error-text.ts";
import { apiTime } from "../../base/timestamp.ts";
import { decisionRecord } from "../../domain/journal/records.ts";
import { networkTroubles } from "../../domain/node/runtime-health.ts";
import { actionDecision } from "../../domain/pod/action-decision.ts";
import { DEADLINE_EXCEEDED } from "../../domain/pod/active-deadline.ts";
import { resumingIds } from "../../domain/pod/container-step.ts";
import { containerNamed, everyContainer } from "../../domain/pod/every-container.ts";
import { resetsOf } from "../../domain/pod/known-exits.ts";
import { computePodActions, endEverything, type PodPlan } from "../../domain/pod/pod-actions.ts";
import { causeToText, describeCause, graceLeftMs, type PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { describePod, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { nextLifecycle, type PodWish } from "../../domain/pod/pod-wish.ts";
import { anyMayRun, emptyView } from "../../domain/pod/runtime-view.ts";
import { finalPhase } from "../../domain/pod-status/final-phase.ts";
import { asRead } from "../../domain/resize/group-steps.ts";
import type { CgroupValues } from "../../domain/resources/cgroup-values.ts";
import { readinessOf, waitingMessage } from "../../domain/volumes/volume-state.ts";
import type { Span } from "../../ports/tracer.ts";
import { accept } from "./accept.ts";
import { EndStepFailure, EndSteps } from "./end-steps.ts";
import { type Execution, execute } from "./execute.ts";
import { removeGhosts } from "./ghosts.ts";
import { inPodSpan } from "./pod-spans.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import { followResize } from "./resize.ts";
import { readSnapshot } from "./snapshot.ts";
import { SandboxNotAsked } from "./start-failure.ts";
import { teller } from "./tell.ts";
import type { PodWorkerCells, PodWorkerPorts, PodWorkerSettings, WorkerContext } from "./worker-options.ts";

/** After a failure; up to half as much longer. */
export const RETRY_MS = 10_000;
const NETWORK_RETRY_MS = 1_000;
/** After so long without its volumes a pod's owner is told, and told again. */
const VOLUMES_PATIENCE_MS = 123_000;
/** More rounds than any pod needs, of which each container may take two; a plan that never settles is tried again later. */
const roundsMax = ({ spec }: Pod): number => 8 + 2 * everyContainer(spec).length;

const NOBODY: ReadonlySet<string> = new Set();

export class PodLife {
  readonly #worker: WorkerContext;
  readonly #ports: PodWorkerPorts;
  readonly #cells: PodWorkerCells;
  readonly #settings: PodWorkerSettings;
  /** Told after each step of a life. */
  readonly #onSettled: () => void;
  readonly #steps: EndSteps;

  constructor(worker: WorkerContext, onSettled: () => void) {
    this.#worker = worker;
    this.#ports = worker.ports;
    this.#cells = worker.cells;
    this.#settings = worker.settings;
    this.#onSettled = onSettled;
    this.#steps = new EndSteps(worker.ports, worker.cells.endSteps);
  }

  /** Moves its life on as wished, in the journal first. False: that could not be written, and nothing is done until it can. */
  async advance(state: PodState, wish: PodWish, wakeIn: (ms: number) => void): Promise<boolean> {
    const next = nextLifecycle(state.lifecycle, wish, state.pod, this.#ports.clock.monotonicMs());
    if (next === state.lifecycle) return true;
    return this.#settle(state, next, wakeIn);
  }

  async #settle(state: PodState, next: PodLifecycle, wakeIn: (ms: number) => void): Promise<boolean> {
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
      this.#ports.log.error("the journal could not be written", error, { uid: state.uid });
      wakeIn(this.retryMs());
      return false;
    }
    state.lifecycle = next;
    this.#ports.pulls.forget(state.uid);
    this.#tellDeadline(state, next);
    this.#onSettled();
    return true;
  }

  #tellDeadline({ pod }: PodState, next: PodLifecycle): void {
    if (pod === undefined || next.kind !== "terminating" || next.why.kind !== "failed") return;
    const { reason, message } = DEADLINE_EXCEEDED;
    if (next.why.reason === reason)
      this.#ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Normal", reason, message);
  }

  async pursue(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const { tracer } = this.#ports;
    if (state.lifecycle.kind === "running")
      await inPodSpan(tracer, "syncPod", state, (span) => this.#keepRunning(state, signal, wakeIn, span));
    if (state.lifecycle.kind === "terminating" && !signal.aborted)
      await inPodSpan(tracer, "syncTerminatingPod", state, () => this.#bringToAnEnd(state, signal, wakeIn));
    if (state.lifecycle.kind === "terminated" && !signal.aborted)
      await inPodSpan(tracer, "syncTerminatedPod", state, () => this.#cleanUp(state, signal, wakeIn));
  }

  async #keepRunning(
    state: PodState,
    signal: AbortSignal,
    wakeIn: (ms: number) => void,
    span: Pick<Span, "fail">,
  ): Promise<void> {
    const { pod } = state;
    if (pod === undefined) return;
    const { looks, statusFailures } = this.#cells;
    using pass = this.#settings.starts.pass();
    const seen = statusFailures.get(state.uid) === undefined ? looks.present(state.uid) : undefined;
    let view = seen ?? (await looks.look(state.uid, signal));
    for (let round = 0; round < roundsMax(pod); round += 1) {
      await accept(state, view, this.#ports);
      const volumes = readinessOf(pod, this.#cells.mountState.get(state.uid));
      const snapshot = await readSnapshot({ state, pod, view, volumes: volumes.kind }, this.#worker);
      const plan = computePodActions(snapshot);
      this.#noteBackoffs(state, plan.backingOff);
      // A resize that a completed pod did not get is not reported as completed.
      if (!plan.completed) await followResize(state, pod, plan.isResizing, this.#ports);
      const removes = plan.actions.some(({ kind }) => kind === "removeForRestart");
      // What is true now is told before the next step, which may take long. What was killed to be run again has not ended for anybody.
      if (!removes) this.publish(state);
      if (plan.completed) {
        await this.advance(state, { kind: "end", why: { kind: "completed" } }, wakeIn);
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
      if (isHeldBack(state, plan)) {
        const leftMs = (state.sandbox.notBeforeMonotonicMs ?? 0) - this.#ports.clock.monotonicMs();
        if (leftMs > 0) return wakeIn(leftMs);
        state.sandbox.notBeforeMonotonicMs = undefined;
        view = await looks.look(state.uid, signal);
        continue;
      }
      await pass.enter(signal);
      const done = await this.#execute(state, plan.actions, undefined, signal);
      if (done.kind === "aborted") return;
      const againMs =
        done.kind === "done" ? undefined : Math.min(...done.againMs.map((ms) => ms ?? this.retryMs()), ...waits);
      if (againMs !== undefined) wakeIn(againMs);
      if (done.kind === "waiting") return;
      if (done.kind === "failed") {
        if (done.what === "createSandbox" && againMs !== undefined && !(done.error instanceof SandboxNotAsked))
          state.sandbox.notBeforeMonotonicMs = this.#ports.clock.monotonicMs() + againMs;
        span.fail(errorText(done.error), done.error);
        this.#ports.log.error("a pod's plan could not be carried out", done.error, {
          uid: state.uid,
          action: done.what,
        });
        await accept(state, await looks.look(state.uid, signal), this.#ports);
        return;
      }
      view = removes ? await looks.look(state.uid, signal) : await looks.refresh(state.uid, done.made, signal);
      if (plan.awaitsVolumes && this.#awaitVolumes(state, pod, wakeIn)) return;
    }
    wakeIn(this.retryMs());
  }

  /** False: they are there meanwhile. Else the pod's turn comes when they are, and its owner hears of it when they take too long. */
  #awaitVolumes(state: PodState, pod: Pod, wakeIn: (ms: number) => void): boolean {
    const volumes = readinessOf(pod, this.#cells.mountState.get(state.uid));
    if (volumes.kind === "ready") {
      state.sandbox.volumesWait = undefined;
      return false;
    }
    const nowMs = this.#ports.clock.monotonicMs();
    const wait = state.sandbox.volumesWait ?? { sinceMonotonicMs: nowMs, told: "" };
    const message = waitingMessage(volumes);
    const leftMs = wait.sinceMonotonicMs + VOLUMES_PATIENCE_MS - nowMs;
    const mustTell = leftMs <= 0 || (volumes.unprocessed.size > 0 && wait.told !== message);
    if (mustTell) this.#ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "FailedMount", message);
    const told = mustTell ? message : wait.told;
    state.sandbox.volumesWait = { sinceMonotonicMs: leftMs <= 0 ? nowMs : wait.sinceMonotonicMs, told };
    wakeIn(leftMs <= 0 ? VOLUMES_PATIENCE_MS : leftMs);
    return true;
  }

  async #bringToAnEnd(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const look = async () => {
      const view = await this.#cells.looks.look(state.uid, signal);
      await accept(state, view, this.#ports);
      return view;
    };
    const lookAtContainers = () => this.#steps.failing(state, "containers", signal, look);
    let view = await lookAtContainers();
    if (anyMayRun(view) || view.sandboxes.length > 0) {
      this.publish(state);
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
      view = await lookAtContainers();
    }
    // Stopped by the runtime's word is not enough: what it still lists as running has not ended, unless nothing of it is left.
    await this.#steps.failing(state, "sandbox", signal, async () => {
      if (!anyMayRun(view)) return;
      const isTaken = await removeGhosts(state, view, this.#worker, signal);
      if (!isTaken || anyMayRun(await look())) throw new Error("containers still run after they were stopped");
    });
    await this.#settle(state, { kind: "terminated", why: causeOf(state.lifecycle) }, wakeIn);
  }

  async #cleanUp(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    this.publish(state);
    // The volumes are told by that and the pod comes again when they are gone: what it held in memory is charged to its group.
    const { volumesKnown, mountState } = this.#cells;
    if (!volumesKnown.value || mountState.get(state.uid) !== undefined) return this.#steps.begin(state, "volumes");
    const { pod, uid } = state;
    if (pod !== undefined) {
      const name = this.#settings.resources.podCgroupName(pod);
      await this.#steps.within(state, "cgroup", signal, () => this.#ports.cgroups.destroy(name, signal));
    }
    await this.#steps.within(state, "users", signal, () => this.#settings.userRanges.release(uid));
    await this.#settle(state, { kind: "finished", why: causeOf(state.lifecycle) }, wakeIn);
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
    using _ = this.#cells.looks.acting(state.uid);
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
      const roled = containerNamed(pod.spec, name);
      if (roled === undefined) continue;
      const told = `Back-off restarting failed container ${name} in pod ${described}`;
      teller(pod, roled, this.#ports)("Warning", "BackOff", told);
    }
  }

  #networkReady(state: PodState, wakeIn: (ms: number) => void): boolean {
    const { pod } = state;
    const troubles = networkTroubles(this.#cells.runtimeHealth.value);
    if (troubles.length === 0 || pod === undefined || pod.spec?.hostNetwork === true) return true;
    const message = `network is not ready: ${troubles.join(", ")}`;
    this.#ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "NetworkNotReady", message);
    wakeIn(NETWORK_RETRY_MS);
    return false;
  }

  publish(state: PodState): void {
    const { uid, pod, lifecycle, view } = state;
    const { waiting, messages, postStartDue, knownExits } = state.containers;
    const { actuated, restarts: restartsForResize } = state.resize;
    const { podOutcomes, probeResults } = this.#cells;
    // Before the first look nothing is known: what was published stays as it is.
    if (view === undefined) return;
    // Of a pod that ends nothing is resized any more.
    const resize = lifecycle.kind === "running" ? state.resize.inProgress : undefined;
    const resuming = pod === undefined ? NOBODY : resumingIds({ pod, restartsForResize, verdicts: probeResults }, view);
    const before = podOutcomes.get(uid);
    const resets = resetsOf(view, knownExits);
    const same =
      before?.lifecycle === lifecycle &&
      before.view === view &&
      sameEntries(before.resets, resets) &&
      before.resize === resize &&
      sameIds(before.resuming ?? NOBODY, resuming) &&
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
      resuming,
      actuated,
      group: this.#groupOf(state),
    });
  }

  /** What was to be done has failed: when to try it again, and whether the log has not had it yet. */
  failed(state: PodState, error: unknown): { readonly againMs: number; readonly isNew: boolean } {
    if (error instanceof EndStepFailure) return this.#steps.failed(state, error);
    return { againMs: this.retryMs(), isNew: true };
  }

  /** Nothing of it is left on the node: what there is to do is to say so. */
  handOver(state: PodState): void {
    if (this.#cells.endSteps.get(state.uid)?.step !== "status") this.#steps.begin(state, "status");
  }

  /** Nobody asks for it any more. */
  forget(uid: string): void {
    this.#steps.forget(uid);
  }

  /** What its own group is held to, as the kernel tells it. */
  #groupOf({ pod, allocation, resize: { actuated } }: PodState): CgroupValues | undefined {
    if (pod === undefined || allocation === undefined || actuated.pod === undefined) return undefined;
    const values = this.#settings.resources.podCgroupValues(pod, { ...allocation, resources: actuated.pod });
    return asRead(values, this.#ports.cgroups);
  }

  /** When to try again what has failed. */
  retryMs(): number {
    return this.#jittered(RETRY_MS);
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#ports.random.fraction() / 2);
  }
}

const causeOf = (lifecycle: PodLifecycle) =>
  lifecycle.kind === "running" ? ({ kind: "completed" } as const) : lifecycle.why;

const sameEntries = <V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean =>
  a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);

const sameIds = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((id) => b.has(id));

const seconds = (ms: number) => {
  const total = Math.round(ms / 1000);
  return total < 60 ? `${total}s` : `${Math.floor(total / 60)}m${total % 60}s`;
};

/** The one that could not be made may be in the making, by a call of an agent before us: whatever wakes the pod meanwhile must not make a second. */
const isHeldBack = ({ sandbox }: PodState, { actions }: PodPlan): boolean =>
  sandbox.notBeforeMonotonicMs !== undefined && actions.some(({ kind }) => kind === "createSandbox");

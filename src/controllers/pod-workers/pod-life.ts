/**
 * Brings one pod further along its life: does what the plan says while it is to run, ends it when it is to end, and leaves the outcome in
 * `podOutcomes`. Each step of a life is in the journal before it counts. Which pods there are, and when they turn, is `pod-workers.ts`.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { networkTroubles } from "../../domain/node/runtime-health.ts";
import { DEADLINE_EXCEEDED } from "../../domain/pod/active-deadline.ts";
import { computePodActions, stopEverything } from "../../domain/pod/pod-actions.ts";
import { causeToText, describeCause, graceLeftMs, type PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { describePod, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { nextLifecycle, type PodWish } from "../../domain/pod/pod-wish.ts";
import { anyMayRun, emptyView } from "../../domain/pod/runtime-view.ts";
import { finalPhase } from "../../domain/pod-status/final-phase.ts";
import { readinessOf, waitingMessage } from "../../domain/volumes/volume-state.ts";
import { accept } from "./accept.ts";
import { type Execution, execute } from "./execute.ts";
import { nameInJournal, type PodState } from "./pod-state.ts";
import { readSnapshot } from "./snapshot.ts";
import type { PodWorkerCells, PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

/** After a failure; up to half as much longer. */
export const RETRY_MS = 10_000;
const NETWORK_RETRY_MS = 1_000;
/** After so long without its volumes a pod's owner is told, and told again. */
const VOLUMES_PATIENCE_MS = 123_000;
/** More rounds than any sane pod needs; a plan that never settles is tried again later. */
const ROUNDS_MAX = 8;

export class PodLife {
  readonly #ports: PodWorkerPorts;
  readonly #cells: PodWorkerCells;
  readonly #settings: PodWorkerSettings;
  /** Told after each step of a life. */
  readonly #onSettled: () => void;

  constructor(ports: PodWorkerPorts, cells: PodWorkerCells, settings: PodWorkerSettings, onSettled: () => void) {
    this.#ports = ports;
    this.#cells = cells;
    this.#settings = settings;
    this.#onSettled = onSettled;
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
    if (state.lifecycle.kind === "running") await this.#keepRunning(state, signal, wakeIn);
    if (state.lifecycle.kind === "terminating" && !signal.aborted) await this.#bringToAnEnd(state, signal, wakeIn);
    if (state.lifecycle.kind === "terminated" && !signal.aborted) await this.#cleanUp(state, signal, wakeIn);
  }

  async #keepRunning(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const { pod } = state;
    if (pod === undefined) return;
    const { looks } = this.#cells;
    using pass = this.#settings.starts.pass();
    let view = looks.present(state.uid) ?? (await looks.look(state.uid, signal));
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await accept(state, view, this.#ports);
      const volumes = readinessOf(pod, this.#cells.mountState.get(state.uid));
      const isReady = volumes.kind === "ready";
      const plan = computePodActions(await readSnapshot(state, pod, view, this.#ports, this.#settings, isReady));
      this.#noteBackoffs(state, plan.backingOff);
      // What is true now is told before the next step, which may take long.
      this.publish(state);
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
      await pass.enter(signal);
      const done = await this.#execute(state, plan.actions, 0, signal);
      if (done.kind === "aborted") return;
      if (done.kind !== "done") wakeIn(Math.min(...done.againMs.map((ms) => ms ?? this.retryMs()), ...waits));
      if (done.kind === "waiting") return;
      if (done.kind === "failed") {
        this.#ports.log.error("a pod's plan could not be carried out", done.error, {
          uid: state.uid,
          action: done.what,
        });
        await accept(state, await looks.look(state.uid, signal), this.#ports);
        return;
      }
      if (plan.awaitsVolumes && this.#awaitVolumes(state, pod, wakeIn)) return;
      view = await looks.refresh(state.uid, done.made, signal);
    }
    wakeIn(this.retryMs());
  }

  /** False: they are there meanwhile. Else the pod's turn comes when they are, and its owner hears of it when they take too long. */
  #awaitVolumes(state: PodState, pod: Pod, wakeIn: (ms: number) => void): boolean {
    const volumes = readinessOf(pod, this.#cells.mountState.get(state.uid));
    if (volumes.kind === "ready") {
      state.volumesWait = undefined;
      return false;
    }
    const nowMs = this.#ports.clock.monotonicMs();
    const wait = state.volumesWait ?? { sinceMonotonicMs: nowMs, told: "" };
    const message = waitingMessage(volumes);
    const leftMs = wait.sinceMonotonicMs + VOLUMES_PATIENCE_MS - nowMs;
    const mustTell = leftMs <= 0 || (volumes.unprocessed.size > 0 && wait.told !== message);
    if (mustTell) this.#ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "FailedMount", message);
    const told = mustTell ? message : wait.told;
    state.volumesWait = { sinceMonotonicMs: leftMs <= 0 ? nowMs : wait.sinceMonotonicMs, told };
    wakeIn(leftMs <= 0 ? VOLUMES_PATIENCE_MS : leftMs);
    return true;
  }

  async #bringToAnEnd(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const look = async () => {
      const view = await this.#cells.looks.look(state.uid, signal);
      await accept(state, view, this.#ports);
      return view;
    };
    let view = await look();
    if (anyMayRun(view) || view.sandboxes.length > 0) {
      this.publish(state);
      const { lifecycle } = state;
      const graceMs = lifecycle.kind === "terminating" ? graceLeftMs(lifecycle, this.#ports.clock.monotonicMs()) : 0;
      const done = await this.#execute(state, stopEverything(view, { kind: "podEnds" }), graceMs, signal);
      if (done.kind === "aborted") return;
      if (done.kind === "failed") throw done.error;
      view = await look();
    }
    // Ended by the runtime's word is not enough: what it still lists as running has not ended.
    if (anyMayRun(view)) throw new Error("containers still run after they were stopped");
    await this.#settle(state, { kind: "terminated", why: causeOf(state.lifecycle) }, wakeIn);
  }

  async #cleanUp(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    this.publish(state);
    // The volumes are told by that and the pod comes again when they are gone: what it held in memory is charged to its group.
    const { volumesKnown, mountState } = this.#cells;
    if (!volumesKnown.value || mountState.get(state.uid) !== undefined) return;
    if (state.pod !== undefined) {
      await this.#ports.cgroups.destroy(this.#settings.resources.podCgroup(state.pod).name, signal);
    }
    await this.#settle(state, { kind: "finished", why: causeOf(state.lifecycle) }, wakeIn);
  }

  async #execute(
    state: PodState,
    actions: Parameters<typeof execute>[0],
    graceMs: number,
    signal: AbortSignal,
  ): Promise<Execution> {
    const { pod } = state;
    const [wallMs, name] = [
      this.#ports.clock.wallMs(),
      nameInJournal(state, this.#cells.podRuntimeStatus.get(state.uid)),
    ];
    for (const { kind, ...details } of actions) {
      const why = state.lifecycle.kind === "running" ? JSON.stringify(details) : describeCause(state.lifecycle.why);
      this.#ports.journal.note({ kind: "decision", uid: state.uid, pod: name, wallMs, what: kind, why });
    }
    using _ = this.#cells.looks.acting(state.uid);
    return await execute(
      actions,
      { state, pod, ports: this.#ports, cells: this.#cells, settings: this.#settings, graceMs },
      signal,
    );
  }

  #noteBackoffs(state: PodState, backingOff: ReadonlyMap<string, { readonly delayMs: number }>): void {
    const { pod } = state;
    if (pod === undefined) return;
    const described = describePod(podNameOfObject(pod));
    for (const [name, { delayMs }] of backingOff) {
      const message = `back-off ${seconds(delayMs)} restarting failed container=${name} pod=${described}`;
      if (state.waiting.get(name)?.message === message) continue;
      state.waiting.set(name, { reason: "CrashLoopBackOff", message });
      const subject = { kind: "Pod", ...podNameOfObject(pod), fieldPath: `spec.containers{${name}}` } as const;
      this.#ports.events.emit(
        subject,
        "Warning",
        "BackOff",
        `Back-off restarting failed container ${name} in pod ${described}`,
      );
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
    const { uid, lifecycle, view, waiting, messages } = state;
    const { podOutcomes } = this.#cells;
    // Before the first look nothing is known: what was published stays as it is.
    if (view === undefined) return;
    const before = podOutcomes.get(uid);
    const same =
      before?.lifecycle === lifecycle &&
      before.view === view &&
      sameEntries(before.waiting, waiting) &&
      sameEntries(before.messages, messages);
    if (same) return;
    podOutcomes.set(uid, { uid, lifecycle, view, waiting: new Map(waiting), messages: new Map(messages) });
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

const seconds = (ms: number) => {
  const total = Math.round(ms / 1000);
  return total < 60 ? `${total}s` : `${Math.floor(total / 60)}m${total % 60}s`;
};

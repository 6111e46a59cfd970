/**
 * One worker per pod UID, and the only authority on whether its containers may run.
 *
 * A turn reads the newest of everything, moves the pod's life forward, does what the plan says and leaves the outcome in `podOutcomes`.
 * Invariants: turns of one UID never overlap; a start in flight is cut short when the pod must end; from the terminating mark on
 * nothing starts; what cannot be read again (an exit, an end) is in the journal before it is acted upon or published.
 */
import { KeyedWorker } from "../../concurrency/keyed-worker.ts";
import { TimerQueue } from "../../concurrency/timer-queue.ts";
import { whenever } from "../../concurrency/whenever.ts";
import { isOver, type UidFacts } from "../../domain/journal/facts.ts";
import { networkTroubles } from "../../domain/node/runtime-health.ts";
import { DEADLINE_EXCEEDED, deadlineLeftMs } from "../../domain/pod/active-deadline.ts";
import { withKnownExits } from "../../domain/pod/known-exits.ts";
import { isOnlyTold } from "../../domain/pod/only-told.ts";
import { computePodActions, stopEverything } from "../../domain/pod/pod-actions.ts";
import { fullNameOf, isStaticPod } from "../../domain/pod/pod-identity.ts";
import {
  causeFromText,
  causeToText,
  describeCause,
  graceLeftMs,
  type PodLifecycle,
} from "../../domain/pod/pod-lifecycle.ts";
import { describePod, podNameOfObject } from "../../domain/pod/pod-names.ts";
import { interrupts, nextLifecycle, type PodWish } from "../../domain/pod/pod-wish.ts";
import {
  anyMayRun,
  containerNameOf,
  emptyView,
  mayRun,
  newestOf,
  type PodRuntimeView,
  podNameOf,
  restartCountOf,
} from "../../domain/pod/runtime-view.ts";
import { wishOf } from "../../domain/pod/wish-of.ts";
import { containerStatus } from "../../domain/pod-status/container-status.ts";
import { podPhase } from "../../domain/pod-status/phase.ts";
import { type Execution, execute } from "./execute.ts";
import { lastWords } from "./last-words.ts";
import { newPodState, type PodState } from "./pod-state.ts";
import { readSnapshot } from "./snapshot.ts";
import type { PodWorkerCells, PodWorkerPorts, PodWorkerSettings } from "./worker-options.ts";

/** After a failure, and when nothing is to be done; each up to half as much longer. */
const RETRY_MS = 10_000;
const NETWORK_RETRY_MS = 1_000;
/** More rounds than any sane pod needs; a plan that never settles is tried again later. */
const ROUNDS_MAX = 8;

export class PodWorkers {
  readonly #ports: PodWorkerPorts;
  readonly #cells: PodWorkerCells;
  readonly #settings: PodWorkerSettings;
  readonly #facts: Map<string, UidFacts>;
  readonly #states = new Map<string, PodState>();
  /** Static pods that wait for one of their name to end. */
  readonly #held = new Set<string>();
  #arrivals = 0;

  constructor(
    ports: PodWorkerPorts,
    cells: PodWorkerCells,
    settings: PodWorkerSettings,
    facts: ReadonlyMap<string, UidFacts>,
  ) {
    this.#ports = ports;
    this.#cells = cells;
    this.#settings = settings;
    this.#facts = new Map(facts);
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { admittedPods, podRuntimeStatus, sourcesReady } = this.#cells;
    const worker = new KeyedWorker<string>({
      turn: (uid, signal) =>
        this.#turn(
          uid,
          signal,
          (ms) => timers.wakeIn(uid, ms),
          (other) => worker.wake(other),
        ),
      onBug: (uid, error) => {
        this.#ports.log.error("a pod's turn failed in an unforeseen way", error, { uid });
        timers.wakeIn(uid, RETRY_MS);
      },
      shutdown,
    });
    const timers = new TimerQueue<string>(this.#ports.clock, (uid) => urgent(uid));
    const urgent = (uid: string) => (this.#isUrgent(uid) ? worker.interrupt(uid) : worker.wake(uid));
    const looked = (uid: string) => {
      worker.wake(uid);
      for (const held of this.#held) worker.wake(held);
    };
    const admitted = (uid: string) => (this.#isOnlyTold(uid) ? undefined : urgent(uid));
    const unwatch = [admittedPods.watch(admitted), podRuntimeStatus.watch(looked)];
    try {
      const wakeAll = () => {
        for (const uid of new Set([...admittedPods.keys(), ...podRuntimeStatus.keys()])) worker.wake(uid);
      };
      const wakeHeld = () => {
        for (const uid of this.#held) worker.wake(uid);
      };
      wakeAll();
      await Promise.all([
        whenever(sourcesReady, wakeAll, shutdown),
        whenever(this.#cells.listedSandboxes, wakeHeld, shutdown),
      ]);
    } finally {
      for (const end of unwatch) end();
      timers.close();
      await worker.drained();
    }
  }

  /** Whether what is now wanted of a UID makes its turn under way pointless. */
  #isUrgent(uid: string): boolean {
    const state = this.#states.get(uid);
    if (state === undefined) return false;
    const wish = this.#wish(state);
    if (wish === undefined) return false;
    const after = nextLifecycle(state.lifecycle, wish, this.#podOf(state), this.#ports.clock.monotonicMs());
    return interrupts(state.lifecycle, after);
  }

  /** Whether only what we ourselves publish has changed of it. To turn upon that would cut short every wait after a failure. */
  #isOnlyTold(uid: string): boolean {
    const [before, now] = [this.#states.get(uid)?.pod, this.#cells.admittedPods.get(uid)];
    return before !== undefined && now !== undefined && !now.isStatic && isOnlyTold(before, now.pod);
  }

  async #turn(
    uid: string,
    signal: AbortSignal,
    wakeIn: (ms: number) => void,
    wake: (uid: string) => void,
  ): Promise<void> {
    // A timer of a pod that is forgotten.
    if (!this.#isKnown(uid)) return;
    const state = this.#state(uid);
    const wish = this.#wish(state);
    state.pod = this.#podOf(state);
    if (wish === undefined) return this.#publish(state);
    this.#wakeAtDeadline(state, wakeIn);
    if (!(await this.#advance(state, wish, wakeIn))) return;
    try {
      // Over already in an earlier life of ours: what became of its containers is still to be told.
      if (state.lifecycle.kind === "finished" && state.view === undefined) {
        await this.#accept(state, await this.#cells.looks.look(state.uid, signal));
      }
      await this.#pursue(state, signal, wakeIn);
    } catch (error) {
      if (!signal.aborted) {
        this.#ports.log.error("a pod could not be brought further", error, { uid });
        wakeIn(this.#jittered(RETRY_MS));
      }
    }
    this.#publish(state);
    if (state.lifecycle.kind === "finished") this.#leave(state, wake);
  }

  #isKnown(uid: string): boolean {
    const { admittedPods, podRuntimeStatus } = this.#cells;
    return this.#states.has(uid) || admittedPods.get(uid) !== undefined || podRuntimeStatus.get(uid) !== undefined;
  }

  #state(uid: string): PodState {
    const known = this.#states.get(uid);
    if (known !== undefined) return known;
    const fresh = newPodState(uid, this.#arrivals);
    this.#arrivals += 1;
    this.#recall(fresh);
    this.#states.set(uid, fresh);
    return fresh;
  }

  /** What an earlier process of ours knew of this UID. Asked once: what comes back later begins a new life. */
  #recall(state: PodState): void {
    const facts = this.#facts.get(state.uid);
    this.#facts.delete(state.uid);
    const isStatic = this.#cells.admittedPods.get(state.uid)?.isStatic === true;
    if (facts === undefined || (facts.finishedWallMs !== undefined && !isOver(facts, isStatic))) return;
    for (const [name, exits] of facts.exits) {
      const last = exits.at(-1);
      if (last === undefined) continue;
      const { containerId, exitCode, reason, restartCount } = last;
      const [startedWallNs, finishedWallNs] = [BigInt(last.startedWallNs), BigInt(last.finishedWallNs)];
      state.knownExits.set(name, { containerId, exitCode, reason, restartCount, startedWallNs, finishedWallNs });
    }
    const { clock } = this.#ports;
    const { terminating, finishedWallMs } = facts;
    if (finishedWallMs !== undefined) {
      state.lifecycle = { kind: "finished", why: causeFromText(terminating?.why ?? "") };
    } else if (terminating !== undefined) {
      // The grace ran on while we were away; a clock that was set back does not lengthen it.
      const { graceSeconds, graceSinceWallMs, why } = terminating;
      const goneMs = Math.min(Math.max(0, clock.wallMs() - graceSinceWallMs), graceSeconds * 1000);
      const sinceMonotonicMs = clock.monotonicMs() - goneMs;
      state.lifecycle = { kind: "terminating", graceSeconds, sinceMonotonicMs, why: causeFromText(why) };
    }
  }

  #podOf(state: PodState) {
    return this.#cells.admittedPods.get(state.uid)?.pod ?? state.pod;
  }

  #wish(state: PodState): PodWish | undefined {
    const admitted = this.#cells.admittedPods.get(state.uid);
    const mustWait = admitted?.isStatic === true && state.lifecycle.kind === "running" && this.#nameIsTaken(state);
    if (mustWait) this.#held.add(state.uid);
    else this.#held.delete(state.uid);
    return wishOf({
      admitted,
      sourcesReady: this.#cells.sourcesReady.value,
      wasWanted: state.pod !== undefined,
      mustWait,
      wallMs: this.#ports.clock.wallMs(),
    });
  }

  /**
   * Static pods of one name run one after the other, in the order they came, also after one of an earlier life of ours that nobody
   * wants any more. What the runtime lists but was not looked at yet may run.
   */
  #nameIsTaken(state: PodState): boolean {
    const own = this.#fullName(state);
    const earlier = [...this.#states.values()].some(
      (other) => other.arrival < state.arrival && other.lifecycle.kind !== "finished" && this.#fullName(other) === own,
    );
    const { listedSandboxes, podRuntimeStatus } = this.#cells;
    if (earlier || listedSandboxes.value === undefined) return true;
    const namesakes = listedSandboxes.value.filter(
      ({ metadata }) => metadata.uid !== state.uid && `${metadata.namespace}/${metadata.name}` === own,
    );
    return namesakes.some(({ metadata }) => {
      const view = podRuntimeStatus.get(metadata.uid);
      return view === undefined || anyMayRun(view);
    });
  }

  #fullName(state: PodState): string | undefined {
    const pod = this.#podOf(state);
    return pod === undefined ? undefined : `${pod.metadata?.namespace}/${pod.metadata?.name}`;
  }

  /** Moves its life on as wished, in the journal first. False: that could not be written, and nothing is done until it can. */
  async #advance(state: PodState, wish: PodWish, wakeIn: (ms: number) => void): Promise<boolean> {
    const next = nextLifecycle(state.lifecycle, wish, state.pod, this.#ports.clock.monotonicMs());
    if (next === state.lifecycle) return true;
    return this.#settle(state, next, wakeIn);
  }

  async #settle(state: PodState, next: PodLifecycle, wakeIn: (ms: number) => void): Promise<boolean> {
    const common = { uid: state.uid, pod: this.#nameOf(state), wallMs: this.#ports.clock.wallMs() };
    try {
      if (next.kind === "terminating") {
        await this.#ports.journal.append({
          kind: "terminating",
          ...common,
          graceSeconds: next.graceSeconds,
          why: causeToText(next.why),
        });
      } else if (next.kind === "terminated" && state.pod !== undefined) {
        await this.#ports.journal.append({ kind: "terminal", ...common, phase: this.#finalPhase(state, next) });
      } else if (next.kind === "finished") {
        await this.#ports.journal.append({ kind: "finished", ...common });
      }
    } catch (error) {
      this.#ports.log.error("the journal could not be written", error, { uid: state.uid });
      wakeIn(this.#jittered(RETRY_MS));
      return false;
    }
    state.lifecycle = next;
    this.#tellDeadline(state, next);
    this.#noteEnding();
    return true;
  }

  #wakeAtDeadline({ uid, lifecycle }: PodState, wakeIn: (ms: number) => void): void {
    const admitted = this.#cells.admittedPods.get(uid);
    const leftMs = admitted === undefined ? undefined : deadlineLeftMs(admitted, this.#ports.clock.wallMs());
    if (leftMs !== undefined && leftMs > 0 && lifecycle.kind === "running") wakeIn(leftMs);
  }

  #tellDeadline({ pod }: PodState, next: PodLifecycle): void {
    if (pod === undefined || next.kind !== "terminating" || next.why.kind !== "failed") return;
    const { reason, message } = DEADLINE_EXCEEDED;
    if (next.why.reason === reason)
      this.#ports.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Normal", reason, message);
  }

  /** Whose mirrors must go with them. */
  #noteEnding(): void {
    const { endingPods } = this.#cells;
    const ending = new Set<string>();
    for (const { lifecycle, pod } of this.#states.values()) {
      if (lifecycle.kind === "running" || lifecycle.kind === "finished") continue;
      if (pod !== undefined && isStaticPod(pod)) ending.add(fullNameOf(pod));
    }
    const before = endingPods.value;
    if (ending.size !== before.size || [...ending].some((name) => !before.has(name))) endingPods.set(ending);
  }

  #finalPhase(state: PodState, lifecycle: PodLifecycle): "Succeeded" | "Failed" {
    const { pod, view = emptyView(state.uid) } = state;
    if (pod === undefined || (lifecycle.kind !== "running" && lifecycle.why.kind === "failed")) return "Failed";
    const inputs = {
      pod,
      view,
      runtimeName: "",
      waiting: new Map(),
      messages: new Map(),
      ready: () => ({ ready: false, started: false }),
    };
    const previous = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
    const statuses = (pod.spec?.containers ?? []).map((container) =>
      containerStatus(container, previous.get(container.name), inputs),
    );
    return podPhase(pod, statuses, lifecycle) === "Succeeded" ? "Succeeded" : "Failed";
  }

  async #pursue(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    if (state.lifecycle.kind === "running") await this.#keepRunning(state, signal, wakeIn);
    if (state.lifecycle.kind === "terminating" && !signal.aborted) await this.#bringToAnEnd(state, signal, wakeIn);
    if (state.lifecycle.kind === "terminated" && !signal.aborted) await this.#cleanUp(state, signal, wakeIn);
  }

  async #keepRunning(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const { pod } = state;
    if (pod === undefined) return;
    const { looks } = this.#cells;
    let view = looks.present(state.uid) ?? (await looks.look(state.uid, signal));
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await this.#accept(state, view);
      const plan = computePodActions(await readSnapshot(state, pod, view, this.#ports, this.#settings));
      this.#noteBackoffs(state, plan.backingOff);
      // What is true now is told before the next step, which may take long: a pull, say.
      this.#publish(state);
      if (plan.completed) {
        await this.#advance(state, { kind: "end", why: { kind: "completed" } }, wakeIn);
        return;
      }
      if (plan.actions.length === 0) {
        const waits = [...plan.backingOff.values()].map(({ leftMs }) => leftMs);
        wakeIn(Math.min(this.#jittered(this.#settings.resyncMs), ...waits));
        return;
      }
      if (!this.#networkReady(state, wakeIn)) return;
      const done = await this.#execute(state, plan.actions, 0, signal);
      if (done.kind === "aborted") return;
      if (done.kind === "failed") {
        this.#ports.log.error("a pod's plan could not be carried out", done.error, {
          uid: state.uid,
          action: done.what,
        });
        wakeIn(done.retryMs ?? this.#jittered(RETRY_MS));
        await this.#accept(state, await looks.look(state.uid, signal));
        return;
      }
      view = await looks.refresh(state.uid, done.made, signal);
    }
    wakeIn(this.#jittered(RETRY_MS));
  }

  async #bringToAnEnd(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    const look = async () => {
      const view = await this.#cells.looks.look(state.uid, signal);
      await this.#accept(state, view);
      return view;
    };
    let view = await look();
    if (anyMayRun(view) || view.sandboxes.length > 0) {
      this.#publish(state);
      const { lifecycle } = state;
      const graceMs = lifecycle.kind === "terminating" ? graceLeftMs(lifecycle, this.#ports.clock.monotonicMs()) : 0;
      const done = await this.#execute(state, stopEverything(view, { kind: "podEnds" }), graceMs, signal);
      if (done.kind === "aborted") return;
      if (done.kind === "failed") throw done.error;
      view = await look();
    }
    // Ended by the runtime's word is not enough: what it still lists as running has not ended.
    if (anyMayRun(view)) throw new Error("containers still run after they were stopped");
    const why = state.lifecycle.kind === "running" ? ({ kind: "completed" } as const) : state.lifecycle.why;
    await this.#settle(state, { kind: "terminated", why }, wakeIn);
  }

  async #cleanUp(state: PodState, signal: AbortSignal, wakeIn: (ms: number) => void): Promise<void> {
    this.#publish(state);
    if (state.pod !== undefined) {
      await this.#ports.cgroups.destroy(this.#settings.resources.podCgroup(state.pod).name, signal);
    }
    const why = state.lifecycle.kind === "running" ? ({ kind: "completed" } as const) : state.lifecycle.why;
    await this.#settle(state, { kind: "finished", why }, wakeIn);
  }

  async #execute(
    state: PodState,
    actions: Parameters<typeof execute>[0],
    graceMs: number,
    signal: AbortSignal,
  ): Promise<Execution> {
    const { pod } = state;
    const [wallMs, name] = [this.#ports.clock.wallMs(), this.#nameOf(state)];
    for (const { kind, ...details } of actions) {
      const why = state.lifecycle.kind === "running" ? JSON.stringify(details) : describeCause(state.lifecycle.why);
      this.#ports.journal.note({ kind: "decision", uid: state.uid, pod: name, wallMs, what: kind, why });
    }
    using _ = this.#cells.looks.acting(state.uid);
    return await execute(actions, { state, pod, ports: this.#ports, settings: this.#settings, graceMs }, signal);
  }

  /** Takes a look for known: every end in it goes to the journal first. */
  async #accept(state: PodState, view: PodRuntimeView): Promise<void> {
    const { journal, clock, files, log } = this.#ports;
    for (const container of view.containers) {
      if (container.state !== "exited" || state.exitSeenMonotonicMs.has(container.id)) continue;
      const name = containerNameOf(container);
      const noted = journal.append({
        kind: "exited",
        uid: state.uid,
        pod: this.#nameOf(state),
        wallMs: clock.wallMs(),
        container: name,
        containerId: container.id,
        exitCode: container.exitCode,
        reason: container.reason,
        startedWallNs: String(container.startedWallNs ?? 0n),
        finishedWallNs: String(container.finishedWallNs ?? 0n),
        restartCount: restartCountOf(container),
      });
      const words = lastWords(container, files, log);
      await noted;
      state.messages.set(container.id, await words);
      state.exitSeenMonotonicMs.set(container.id, clock.monotonicMs());
      state.knownExits.set(name, {
        containerId: container.id,
        exitCode: container.exitCode,
        reason: container.reason,
        restartCount: restartCountOf(container),
        startedWallNs: container.startedWallNs ?? 0n,
        finishedWallNs: container.finishedWallNs ?? 0n,
      });
    }
    this.#forgetGone(state, view);
    // The last word on a pod that has ended is kept though its containers are removed.
    const hasEnded = state.lifecycle.kind === "terminated" || state.lifecycle.kind === "finished";
    if (!hasEnded || state.view === undefined) state.view = withKnownExits(merged(state, view), state.knownExits);
  }

  /** What is remembered of containers goes with them, and why one waited goes when it runs. */
  #forgetGone(state: PodState, view: PodRuntimeView): void {
    if (state.lifecycle.kind !== "running") return;
    const listed = new Set(view.containers.map(({ id }) => id));
    for (const id of state.exitSeenMonotonicMs.keys()) if (!listed.has(id)) state.exitSeenMonotonicMs.delete(id);
    for (const id of state.messages.keys()) if (!listed.has(id)) state.messages.delete(id);
    for (const name of state.waiting.keys()) if (newestOf(view, name)?.state === "running") state.waiting.delete(name);
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

  #publish(state: PodState): void {
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

  /** Nothing is left of it on the node: whoever waited for its name may go, and it is forgotten once no source names it. */
  #leave(state: PodState, wake: (uid: string) => void): void {
    for (const other of this.#states.values()) {
      if (other.arrival > state.arrival && this.#fullName(other) === this.#fullName(state)) wake(other.uid);
    }
    const admitted = this.#cells.admittedPods.get(state.uid);
    const returns =
      admitted?.isStatic === true && state.lifecycle.kind === "finished" && state.lifecycle.why.kind === "removed";
    if (admitted !== undefined && !returns) return;
    // What the runtime still lists is being removed; forgotten now, it would come back as a stranger.
    if (this.#cells.podRuntimeStatus.get(state.uid) !== undefined && !returns) return;
    this.#states.delete(state.uid);
    this.#cells.podOutcomes.delete(state.uid);
    if (returns) wake(state.uid);
  }

  #nameOf(state: PodState): string {
    const view = state.view ?? this.#cells.podRuntimeStatus.get(state.uid);
    const ofRuntime = view === undefined ? undefined : podNameOf(view);
    const name = state.pod === undefined ? ofRuntime : podNameOfObject(state.pod);
    return name === undefined ? "" : `${name.namespace}/${name.name}`;
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#ports.random.fraction() / 2);
  }
}

/** While a pod ends, containers that are already removed from the runtime stay part of its last word. */
function merged(state: PodState, view: PodRuntimeView): PodRuntimeView {
  if (state.lifecycle.kind !== "terminating") return view;
  const listed = new Set(view.containers.map(({ id }) => id));
  const before = state.view ?? emptyView(state.uid);
  const gone = before.containers.filter((container) => !listed.has(container.id) && !mayRun(container));
  const sandboxes = view.sandboxes.length > 0 ? view.sandboxes : before.sandboxes;
  return { ...view, sandboxes, containers: [...view.containers, ...gone] };
}

const sameEntries = <V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean =>
  a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);

const seconds = (ms: number) => {
  const total = Math.round(ms / 1000);
  return total < 60 ? `${total}s` : `${Math.floor(total / 60)}m${total % 60}s`;
};

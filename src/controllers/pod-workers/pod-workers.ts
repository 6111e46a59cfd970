/**
 * One worker per pod UID, and the only authority on whether its containers may run.
 *
 * A sync reads the latest inputs, advances the pod's lifecycle, executes the plan and publishes the outcome in
 * `podOutcomes`. Invariants: syncs of one UID never overlap. A start in flight is canceled when the pod must terminate.
 * Nothing starts once the pod is marked as terminating. What cannot be read again (an exit, a termination) is journaled
 * before it is acted upon or published.
 */

import { errorText } from "../../base/error-text.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { SERVICES_KEY } from "../../domain/container-config/environment/container-environment.ts";
import { RUNTIME_CLASSES_KEY } from "../../domain/container-config/runtime-handler.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import { podOfPull } from "../../domain/images/pull-progress.ts";
import type { JournaledPod } from "../../domain/journal/journaled-pod.ts";
import type { WorkerOperation } from "../../domain/metrics/pod-metrics.ts";
import { deadlineLeftMs } from "../../domain/pod/active-deadline.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { desiredLifecycle } from "../../domain/pod/desired-lifecycle.ts";
import { type DesiredLifecycle, interrupts, nextLifecycle } from "../../domain/pod/next-lifecycle.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import { mayRunOnNode } from "../../domain/pod/runtime-view.ts";
import { isStatusOnlyUpdate } from "../../domain/pod/status-only-update.ts";
import { allocationOf, sameAllocation } from "../../domain/resize/allocation.ts";
import { newPodState, type PodState } from "./pod-state.ts";
import { PodSync, RETRY_MS } from "./pod-sync.ts";
import { publishOutcome } from "./publish-outcome.ts";
import { recordObservation } from "./record-observation.ts";
import { restoreFromJournal } from "./restore-from-journal.ts";
import { emitTurnFailure, withStatusErrors } from "./turn-failure.ts";
import type { PodWorkerCells, PodWorkerPorts, PodWorkerSettings, WorkerContext } from "./worker-options.ts";

export class PodWorkers {
  readonly #ports: PodWorkerPorts;
  readonly #cells: PodWorkerCells;
  readonly #worker: WorkerContext;
  readonly #podSync: PodSync;
  readonly #journaledPods: Map<string, JournaledPod>;
  readonly #states = new Map<string, PodState>();
  /** Static pods that wait until a pod with the same name has terminated. */
  readonly #held = new Set<string>();
  #arrivals = 0;

  constructor(
    ports: PodWorkerPorts,
    cells: PodWorkerCells,
    settings: PodWorkerSettings,
    journaledPods: ReadonlyMap<string, JournaledPod>,
  ) {
    this.#ports = ports;
    this.#cells = { ...cells, runtimeCache: withStatusErrors(cells.runtimeCache) };
    this.#worker = { ports, cells: this.#cells, settings };
    this.#podSync = new PodSync(this.#worker);
    this.#journaledPods = new Map(journaledPods);
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const urgent = (uid: string) => (this.#isUrgent(uid) ? loop.interrupt(uid) : loop.wake(uid));
    const loop: KeyedLoop<string> = new KeyedLoop<string>({
      clock: this.#ports.clock,
      turn: async (uid, { signal, wakeIn }) => {
        await this.#measured(uid, () => this.#turn(uid, signal, wakeIn, (other) => loop.wake(other)));
        if (!this.#isKnown(uid)) loop.cancelWakeup(uid);
      },
      onBug: (uid, error) => this.#ports.log.error("Unexpected error while syncing a pod", error, { uid }),
      afterBugMs: RETRY_MS,
      onWakeup: urgent,
      shutdown,
      queue: this.#ports.queue,
    });
    loop.watch(this.#cells.admittedPods, (uid) => (this.#isStatusOnlyUpdate(uid) ? undefined : urgent(uid)));
    loop.watch(this.#cells.endRequests, urgent);
    this.#watchOthers(loop);
    await loop.run(() => this.#wakeOnChanges(loop, shutdown));
  }

  #watchOthers(loop: KeyedLoop<string>): void {
    const { podRuntimeStatus, referencedObjects, pullsUnderWay, probeResults } = this.#cells;
    loop.watch(podRuntimeStatus, (uid) => {
      loop.wake(uid);
      this.#wakeHeld(loop);
    });
    // Readiness is published, but needs no sync.
    loop.watch(probeResults, (id) => {
      const result = probeResults.get(id);
      const isActedUpon = result?.liveness === "failure" || (result !== undefined && result.startup !== "unknown");
      if (isActedUpon) loop.wake(result.uid);
    });
    loop.watch(this.#cells.statusFailures, (uid) => loop.wake(uid));
    loop.watch(this.#cells.mountState, (uid) => loop.wake(uid));
    loop.watch(referencedObjects, (key) => {
      if (referencedObjects.get(key)?.kind !== "unknown") this.#wakeBlockedOn(key, loop);
    });
    loop.watch(pullsUnderWay, (key) => {
      if (pullsUnderWay.get(key)?.kind === "settled") loop.wake(podOfPull(key));
    });
  }

  async #wakeOnChanges(loop: KeyedLoop<string>, shutdown: AbortSignal): Promise<void> {
    const { admittedPods, podRuntimeStatus, sourcesReady, volumesKnown, listedSandboxes } = this.#cells;
    const wakeAll = () => {
      const uids = [...admittedPods.keys(), ...podRuntimeStatus.keys(), ...this.#states.keys()];
      for (const uid of new Set(uids)) loop.wake(uid);
    };
    wakeAll();
    await Promise.all([
      onChange(sourcesReady, wakeAll, shutdown),
      onChange(volumesKnown, wakeAll, shutdown),
      onChange(listedSandboxes, () => this.#wakeHeld(loop), shutdown),
      onChange(this.#cells.services, () => this.#wakeBlockedOn(SERVICES_KEY, loop), shutdown),
      onChange(this.#cells.runtimeClasses, () => this.#wakeBlockedOn(RUNTIME_CLASSES_KEY, loop), shutdown),
    ]);
  }

  #wakeHeld(loop: KeyedLoop<string>): void {
    for (const uid of this.#held) loop.wake(uid);
  }

  /** Wakes the pods with a container that could not start without this object. */
  #wakeBlockedOn(key: string, loop: KeyedLoop<string>): void {
    for (const { uid, containers } of this.#states.values()) if (containers.blockedOn.has(key)) loop.wake(uid);
  }

  async #measured(uid: string, turn: () => Promise<void>): Promise<void> {
    const { clock, podMetrics } = this.#ports;
    // The timer of a forgotten pod fired.
    if (!this.#isKnown(uid)) return;
    const sinceMs = clock.monotonicMs();
    const operation = this.#operation(uid);
    const admitted = this.#cells.admittedPods.get(uid);
    if (operation === "create" && admitted !== undefined) {
      podMetrics?.workerStart.observe(Math.max(0, clock.wallMs() - admitted.firstSeenWallMs) / 1000);
    }
    await turn();
    podMetrics?.workerTurns.observe((clock.monotonicMs() - sinceMs) / 1000, operation);
  }

  /** What a sync is for: the first of a pod, one after its object changed, one of its termination, or none of these. */
  #operation(uid: string): WorkerOperation {
    const state = this.#states.get(uid);
    if (state === undefined) return "create";
    if (state.lifecycle.kind !== "running") return "terminated";
    return this.#podOf(state) === state.pod ? "sync" : "update";
  }

  /** Whether the state now wanted for a UID makes its running sync pointless. */
  #isUrgent(uid: string): boolean {
    const state = this.#states.get(uid);
    if (state === undefined) return false;
    const desired = this.#desiredLifecycle(state);
    if (desired === undefined) return false;
    const after = nextLifecycle(state.lifecycle, desired, this.#podOf(state), this.#ports.clock.monotonicMs());
    return interrupts(state.lifecycle, after);
  }

  /**
   * Whether only the status that we publish has changed. A sync for that would cut short every backoff after a failure.
   */
  #isStatusOnlyUpdate(uid: string): boolean {
    const [before, now] = [this.#states.get(uid)?.pod, this.#cells.admittedPods.get(uid)];
    if (before === undefined || now === undefined || this.#cells.endRequests.get(uid) !== undefined) return false;
    const hasSame = sameAllocation(allocationOf(now.pod), allocationOf(before));
    return !now.isStatic && hasSame && isStatusOnlyUpdate(before, now.pod);
  }

  async #turn(
    uid: string,
    signal: AbortSignal,
    wakeIn: (ms: number) => void,
    wake: (uid: string) => void,
  ): Promise<void> {
    const state = this.#state(uid);
    const desired = this.#desiredLifecycle(state);
    // A deferred pod counts as not arrived: its first sync is still to come.
    if (desired === undefined && this.#isDeferred(uid)) return this.#wakeAtDeadline(state, wakeIn);
    state.pod = this.#podOf(state);
    const admitted = this.#cells.admittedPods.get(uid);
    if (state.lifecycle.kind === "running") state.incarnation = admitted?.incarnation ?? state.incarnation;
    // After a restart of the kubelet the pod is the one that the journal knows.
    state.incarnation ??= admitted?.incarnation;
    if (admitted?.verdict.kind === "admitted") state.allocation = admitted.verdict.allocation;
    state.initialStatus = admitted?.initialStatus;
    state.resize.allocatedGeneration = admitted?.resize?.allocatedGeneration;
    if (desired === undefined) return publishOutcome(state, this.#worker);
    this.#wakeAtDeadline(state, wakeIn);
    if (!(await this.#podSync.transition(state, desired, wakeIn))) return;
    try {
      // A previous kubelet process terminated the pod: the final state of its containers is still to be published.
      if (hasEnded(state.lifecycle) && state.view === undefined) {
        await recordObservation(state, await this.#cells.runtimeCache.inspect(state.uid, signal), this.#ports);
      }
      await this.#podSync.sync(state, signal, wakeIn);
      state.reports.failureEvent = undefined;
      this.#journalSyncFailure(state, undefined, false);
    } catch (error) {
      if (!signal.aborted) {
        const isReported = emitTurnFailure(state, error, this.#ports);
        this.#journalSyncFailure(state, error, isReported);
        const { againMs, isNew } = this.#podSync.failed(state, error);
        if (isNew) this.#ports.log.error("Failed to sync a pod", error, { uid });
        wakeIn(againMs);
      }
    }
    publishOutcome(state, this.#worker);
    if (state.lifecycle.kind !== "finished") return;
    this.#podSync.reportRemoved(state);
    this.#release(state, wake);
  }

  /**
   * Journals why the pod could not be synced, unless an event reported it, and once that it was synced again. A
   * termination reports its steps itself.
   */
  #journalSyncFailure(state: PodState, error: unknown, isReported: boolean): void {
    const { journalEvents } = this.#ports;
    const { pod, lifecycle } = state;
    if (lifecycle.kind !== "running") return;
    const { isStuck } = state.reports;
    state.reports.isStuck = error !== undefined;
    if (journalEvents === undefined || pod === undefined || isReported || (error === undefined && !isStuck)) return;
    const subject = podSubject(pod);
    if (error === undefined) journalEvents.emit(subject, "Normal", "Resumed", "");
    else journalEvents.emit(subject, "Warning", "FailedSync", errorText(error));
  }

  #isDeferred(uid: string): boolean {
    return this.#cells.admittedPods.get(uid)?.verdict.kind === "deferred";
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
    // Used once: a pod that returns later starts a new lifecycle.
    const journaledPod = this.#journaledPods.get(uid);
    this.#journaledPods.delete(uid);
    restoreFromJournal(fresh, journaledPod, this.#cells.admittedPods.get(uid)?.isStatic === true, this.#ports.clock);
    this.#states.set(uid, fresh);
    return fresh;
  }

  #podOf(state: PodState) {
    return this.#cells.admittedPods.get(state.uid)?.pod ?? state.pod;
  }

  #desiredLifecycle(state: PodState): DesiredLifecycle | undefined {
    const admitted = this.#cells.admittedPods.get(state.uid);
    const mustWait = admitted?.isStatic === true && state.lifecycle.kind === "running" && this.#nameIsTaken(state);
    if (mustWait) this.#held.add(state.uid);
    else this.#held.delete(state.uid);
    return desiredLifecycle({
      admitted,
      endRequest: this.#cells.endRequests.get(state.uid),
      sourcesReady: this.#cells.sourcesReady.value,
      wasWanted: state.pod !== undefined,
      mustWait,
      wallMs: this.#ports.clock.wallMs(),
    });
  }

  /**
   * Static pods with the same name run one after the other, in the order of arrival. They also wait for such a pod of a
   * previous kubelet process that no source wants any more. A pod that is listed but not inspected yet may be running.
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
    return namesakes.some(({ metadata: { uid } }) => mayRunOnNode(uid, podRuntimeStatus.get(uid), namesakes));
  }

  #fullName(state: PodState): string | undefined {
    const pod = this.#podOf(state);
    return pod === undefined ? undefined : `${pod.metadata?.namespace}/${pod.metadata?.name}`;
  }

  #wakeAtDeadline({ uid, lifecycle }: PodState, wakeIn: (ms: number) => void): void {
    const admitted = this.#cells.admittedPods.get(uid);
    const leftMs = admitted === undefined ? undefined : deadlineLeftMs(admitted, this.#ports.clock.wallMs());
    if (leftMs !== undefined && leftMs > 0 && lifecycle.kind === "running") wakeIn(leftMs);
  }

  /**
   * Nothing of the pod is left on the node: wakes pods that wait for its name, and forgets the pod once no source has
   * it.
   */
  #release(state: PodState, wake: (uid: string) => void): void {
    for (const other of this.#states.values()) {
      if (other.arrival > state.arrival && this.#fullName(other) === this.#fullName(state)) wake(other.uid);
    }
    const admitted = this.#cells.admittedPods.get(state.uid);
    const returns = admitted?.isStatic === true && isOfEarlierLife(state, admitted);
    if (admitted !== undefined && !returns) return;
    // The runtime still lists parts that are being removed: a pod forgotten now would reappear as an unknown one.
    if (this.#cells.podRuntimeStatus.get(state.uid) !== undefined && !returns) return;
    this.#states.delete(state.uid);
    this.#cells.podOutcomes.delete(state.uid);
    this.#podSync.forget(state.uid);
    if (!returns) return;
    this.#ports.podMetrics?.restarted.increment("true");
    wake(state.uid);
  }
}

/** Whether the finished state is that of a pod that its source removed before it had this one. */
const isOfEarlierLife = ({ lifecycle, incarnation }: PodState, admitted: AdmittedPod): boolean =>
  lifecycle.kind === "finished" && (lifecycle.why.kind === "removed" || incarnation !== admitted.incarnation);

/**
 * Runs an iteration whenever the desired pods or something that a pod waits for change. Each iteration releases the
 * resources of terminated pods, admits new pods (`admission.ts`), allocates their resources (`allocation.ts`), checks
 * preemptions (`preemptions.ts`) and grants resizes (`resizes.ts`). Iterations never overlap. This loop is the only
 * writer of `admittedPods`.
 *
 * A static pod whose manifest was removed and written again returns under its UID. It is admitted again only after its
 * worker has finished: so the worker cannot miss the removal, and the journal has the end before the new admission.
 */

import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { Heartbeat } from "../../concurrency/loop-heartbeats.ts";
import { Notifier } from "../../concurrency/notifier.ts";
import { pause } from "../../concurrency/sleep.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { undeclaredByChange } from "../../domain/admission/declared-features.ts";
import type { UndecidedPods } from "../../domain/admission/undecided-pods.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { JournaledPod } from "../../domain/journal/journaled-pod.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { ResizeMetrics } from "../../domain/metrics/resize-metrics.ts";
import { type AdmittedPod, desiredOf } from "../../domain/pod/admitted-pod.ts";
import type { DesiredPod, DesiredPods } from "../../domain/pod/desired-pod.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import type { PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { ResizeSettings } from "../../domain/resize/decision.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import { Admission } from "./admission.ts";
import type { AdmissionContextReader } from "./admission-context.ts";
import { AllocationStage, type PodAllocator } from "./allocation.ts";
import { HoldingPods } from "./holding-pods.ts";
import { Preemptions } from "./preemptions.ts";
import { Resizes, type RetryTrigger } from "./resizes.ts";

export interface SyncLoopOptions {
  readonly journal: Journal;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Log;
  readonly desiredPods: Latest<DesiredPods>;
  readonly podRuntimeStatus: ReadonlyTable<string, PodRuntimeView>;
  /** Undefined until the runtime was listed for the first time. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly admittedPods: LatestTable<string, AdmittedPod>;
  readonly endRequests: ReadonlyTable<string, EndRequest>;
  /** This loop's own requests, which `endRequests` includes. */
  readonly preemptions: LatestTable<string, EndRequest>;
  readonly sourcesReady: LatestCell<boolean>;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
  /** In the order in which they are called. */
  readonly allocators: readonly PodAllocator[];
  readonly context: Pick<AdmissionContextReader, "awaited" | "read" | "fetchNode">;
  readonly undecidedPods: UndecidedPods;
  readonly declaredFeatures: readonly string[] | undefined;
  readonly resize: ResizeSettings;
  readonly heartbeat: Pick<Heartbeat, "beat">;
  readonly podMetrics?: Pick<PodMetrics, "rejected" | "preempted">;
  readonly resizeMetrics?: ResizeMetrics;
}

const JOURNAL_RETRY_MS = 1_000;
/** The maximum interval between two iterations; only the health check depends on it. */
const TURN_MS_MAX = 60_000;

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #preemptions: Preemptions;
  readonly #holding: HoldingPods;
  readonly #allocation: AllocationStage;
  readonly #admission: Admission;
  readonly #resizes: Resizes;
  /** Notified when a pod terminates that another pod or a resize waits for. */
  readonly #awaitedEnd = new Notifier();
  #endsSeen = 0;
  /** UIDs of pods that left their source and whose worker has not finished. */
  readonly #leaving = new Set<string>();

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#preemptions = new Preemptions(options);
    this.#holding = new HoldingPods(options, this.#preemptions);
    this.#allocation = new AllocationStage(options);
    this.#admission = new Admission(options, this.#holding, this.#preemptions, this.#allocation);
    this.#resizes = new Resizes(options, this.#holding, this.#preemptions);
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { desiredPods, listedSandboxes, podOutcomes, context, clock } = this.#options;
    const unwatch = podOutcomes.watch((uid) => {
      const isReleased =
        (this.#allocation.has(uid) && this.#holding.isFree(uid)) || (this.#leaving.has(uid) && !this.#isLeaving(uid));
      const isHeldBack = !this.#allocation.isEmpty && this.#isUndecided(uid);
      const isAwaited = this.#preemptions.has(uid) || (!this.#holding.holdsResources(uid) && this.#resizes.areWaiting);
      if (isReleased || isHeldBack || isAwaited) this.#awaitedEnd.notify();
    });
    while (!shutdown.aborted) {
      const cells = [desiredPods, listedSandboxes, this.#awaitedEnd, ...context.awaited, ...this.#allocation.awaited];
      const seen = cells.map((cell) => ({ cell, seen: cell.version }));
      this.#options.heartbeat.beat();
      let againMs: number;
      try {
        againMs = await this.#turn(desiredPods.value, shutdown);
      } catch (error) {
        if (!shutdown.aborted) this.#options.log.error("Failed to admit pods", error);
        await pause(clock, JOURNAL_RETRY_MS, shutdown);
        continue;
      }
      // Rejects only when the signal aborts, which ends the loop.
      await waitForChange(clock, seen, Math.min(againMs, TURN_MS_MAX), shutdown).catch(() => undefined);
    }
    unwatch();
  }

  /** Returns the time until the next iteration if nothing changes. */
  async #turn(desired: DesiredPods, shutdown: AbortSignal): Promise<number> {
    const { admittedPods, sourcesReady } = this.#options;
    const holding = this.#holding.all();
    const gone = this.#removeGone(desired);
    const undecided: DesiredPod[] = [];
    for (const each of desired.pods.values()) {
      const known = admittedPods.get(each.uid);
      if (known !== undefined) this.#update(known, each);
      if (known !== undefined ? known.verdict.kind === "deferred" : !this.#leaving.has(each.uid)) undecided.push(each);
    }
    const released = this.#allocation.releaseWhere((uid) => this.#holding.isFree(uid));
    for (const uid of [...gone, ...released]) this.#admission.forget(uid);
    const preemptionMs = this.#preemptions.checkProgress(
      (uid) => admittedPods.get(uid) !== undefined && this.#holding.holdsResources(uid),
    );
    const decidable = undecided.filter((each) => this.#admission.isDecidable(each));
    if (decidable.length > 0) await this.#admission.decide(decidable, holding, shutdown);
    for (const each of undecided) if (!decidable.includes(each)) this.#admission.noteNotListedYet(each);
    // Pods that cannot be decided yet are wanted too: until they are decided, no pod counts as unwanted.
    const isComplete = desired.sourcesReady && decidable.length === undecided.length;
    if (isComplete && !sourcesReady.value) sourcesReady.set(true);
    const trigger = gone.length > 0 ? "pods_removed" : decidable.length > 0 ? "pods_added" : undefined;
    await this.#resizeAll(isComplete, trigger, shutdown);
    return Math.min(preemptionMs, this.#admission.dueInMs(undecided));
  }

  /** Returns the UIDs of the pods that left their source, also if it has them again. */
  #removeGone(desired: DesiredPods): readonly string[] {
    const { admittedPods } = this.#options;
    for (const uid of this.#leaving) if (!this.#isLeaving(uid)) this.#leaving.delete(uid);
    const gone = admittedPods.keys().filter((uid) => {
      const now = desired.pods.get(uid);
      if (now === undefined) return true;
      // Before all sources have reported nothing ends, so the removal has no effect.
      return desired.sourcesReady && now.incarnation !== admittedPods.get(uid)?.incarnation;
    });
    for (const uid of gone) {
      admittedPods.delete(uid);
      this.#preemptions.forget(uid);
      if (this.#isLeaving(uid)) this.#leaving.add(uid);
    }
    return gone;
  }

  #isLeaving(uid: string): boolean {
    const outcome = this.#options.podOutcomes.get(uid);
    return outcome !== undefined && outcome.lifecycle.kind !== "finished";
  }

  #isUndecided(uid: string): boolean {
    const { desiredPods, admittedPods } = this.#options;
    return desiredPods.value.pods.has(uid) && admittedPods.get(uid) === undefined;
  }

  /** Resizes are decided only once all pods that hold resources are known. */
  async #resizeAll(isComplete: boolean, trigger: RetryTrigger | undefined, shutdown: AbortSignal): Promise<void> {
    const hasEnded = this.#awaitedEnd.version !== this.#endsSeen;
    this.#endsSeen = this.#awaitedEnd.version;
    if (!isComplete || this.#resizes.due().length === 0) return this.#resizes.publishUndecided();
    const mustDecide = this.#options.undecidedPods.kind === "decide";
    const context = { ...(await this.#options.context.read(shutdown)), mustDecide };
    await this.#resizes.decide(context, trigger ?? (hasEnded ? "pod_terminated" : "periodic_retry"));
  }

  #update(known: AdmittedPod, { pod, incarnation }: DesiredPod): void {
    const { admittedPods, events, declaredFeatures } = this.#options;
    if (known.incarnation !== incarnation) admittedPods.set(known.uid, { ...known, incarnation });
    if (!this.#resizes.isNew(known, pod)) return;
    const missing = undeclaredByChange(desiredOf(known), pod, declaredFeatures);
    this.#resizes.update({ ...known, incarnation }, pod);
    if (missing === undefined) return;
    events.emit(podSubject(pod), "Warning", "FailedNodeDeclaredFeaturesCheck", missing);
  }
}

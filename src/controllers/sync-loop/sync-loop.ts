/**
 * Turns whenever what the sources want has changed, or something that a pod waits for: what pods had that have ended is released, new pods are admitted
 * (`admission.ts`) and allocated (`allocation.ts`), pods that end for a critical one are followed (`preemptions.ts`), and changed resources are granted
 * (`resizes.ts`), one turn after the other. The only writer of `admittedPods`.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { changedWithin } from "../../concurrency/changed-within.ts";
import { type Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import { pause } from "../../concurrency/sleep.ts";
import type { Watch } from "../../concurrency/turns.ts";
import { undeclaredByChange } from "../../domain/admission/declared-features.ts";
import type { UidFacts } from "../../domain/journal/facts.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import type { ResizeMetrics } from "../../domain/metrics/resize-metrics.ts";
import { type AdmittedPod, desiredOf } from "../../domain/pod/admitted-pod.ts";
import type { DesiredPod, DesiredPods } from "../../domain/pod/desired-pod.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
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
  readonly podRuntimeStatus: ReadTable<string, PodRuntimeView>;
  /** Undefined until the runtime has been asked what it has. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly podOutcomes: ReadTable<string, PodOutcome>;
  readonly admittedPods: LatestTable<string, AdmittedPod>;
  readonly endRequests: ReadTable<string, EndRequest>;
  /** Our own among them. */
  readonly preemptions: LatestTable<string, EndRequest>;
  readonly sourcesReady: LatestCell<boolean>;
  readonly facts: ReadonlyMap<string, UidFacts>;
  /** In the order in which they are called. */
  readonly allocators: readonly PodAllocator[];
  readonly context: Pick<AdmissionContextReader, "awaited" | "read" | "fetchNode">;
  readonly declaredFeatures: readonly string[] | undefined;
  readonly resize: ResizeSettings;
  readonly watch: Pick<Watch, "turned">;
  readonly podMetrics?: Pick<PodMetrics, "rejected" | "preempted">;
  readonly resizeMetrics?: ResizeMetrics;
}

const JOURNAL_RETRY_MS = 1_000;
/** The longest without a turn: nothing waits for it but the health check. */
const TURN_MS_MAX = 60_000;

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #preemptions: Preemptions;
  readonly #holding: HoldingPods;
  readonly #allocation: AllocationStage;
  readonly #admission: Admission;
  readonly #resizes: Resizes;
  /** Counts the ends that somebody waits for. */
  readonly #ends = new LatestCell(0);
  #endsSeen = 0;

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
      const isReleased = this.#allocation.has(uid) && this.#holding.isFree(uid);
      const isHeldBack = !this.#allocation.isEmpty && this.#isUndecided(uid);
      const isAwaited = this.#preemptions.has(uid) || (!this.#holding.holds(uid) && this.#resizes.areWaiting);
      if (isReleased || isHeldBack || isAwaited) this.#ends.set(this.#ends.value + 1);
    });
    while (!shutdown.aborted) {
      const cells = [desiredPods, listedSandboxes, this.#ends, ...context.awaited];
      const seen = cells.map((cell) => ({ cell, seen: cell.version }));
      this.#options.watch.turned();
      let againMs: number;
      try {
        againMs = await this.#turn(desiredPods.value, shutdown);
      } catch (error) {
        if (!shutdown.aborted) this.#options.log.error("pods could not be taken in", error);
        await pause(clock, JOURNAL_RETRY_MS, shutdown);
        continue;
      }
      // Rejects only when the signal aborts, which ends the loop.
      await changedWithin(clock, seen, Math.min(againMs, TURN_MS_MAX), shutdown).catch(() => undefined);
    }
    unwatch();
  }

  /** Answers with when to turn again though nothing changes. */
  async #turn(desired: DesiredPods, shutdown: AbortSignal): Promise<number> {
    const { admittedPods, sourcesReady } = this.#options;
    const undecided: DesiredPod[] = [];
    for (const { uid, pod, ...rest } of desired.pods.values()) {
      const known = admittedPods.get(uid);
      if (known !== undefined && this.#resizes.isNew(known, pod)) this.#update(known, pod);
      if (known === undefined || known.verdict.kind === "deferred") undecided.push({ uid, pod, ...rest });
    }
    const holding = this.#holding.all();
    const gone = admittedPods.keys().filter((uid) => !desired.pods.has(uid));
    for (const uid of gone) {
      admittedPods.delete(uid);
      this.#preemptions.forget(uid);
    }
    const released = this.#allocation.releaseWhere((uid) => this.#holding.isFree(uid));
    for (const uid of [...gone, ...released]) this.#admission.forget(uid);
    const againMs = this.#preemptions.look((uid) => admittedPods.get(uid) !== undefined && this.#holding.holds(uid));
    const judgeable = undecided.filter((each) => this.#admission.isJudgeable(each));
    if (judgeable.length > 0) await this.#admission.decide(judgeable, holding, shutdown);
    for (const each of undecided) if (!judgeable.includes(each)) this.#admission.noteUnlooked(each);
    // Whoever is not even looked at yet is wanted all the same: until then nothing counts as unwanted.
    const isComplete = desired.sourcesReady && judgeable.length === undecided.length;
    if (isComplete && !sourcesReady.value) sourcesReady.set(true);
    const trigger = gone.length > 0 ? "pods_removed" : judgeable.length > 0 ? "pods_added" : undefined;
    await this.#resizeAll(isComplete, trigger, shutdown);
    return againMs;
  }

  #isUndecided(uid: string): boolean {
    const { desiredPods, admittedPods } = this.#options;
    return desiredPods.value.pods.has(uid) && admittedPods.get(uid) === undefined;
  }

  /** Not before everybody is known who has a part of the node. */
  async #resizeAll(isComplete: boolean, trigger: RetryTrigger | undefined, shutdown: AbortSignal): Promise<void> {
    const hasEnded = this.#ends.version !== this.#endsSeen;
    this.#endsSeen = this.#ends.version;
    if (!isComplete || this.#resizes.due().length === 0) return this.#resizes.putOff();
    const facts = await this.#options.context.read(shutdown);
    await this.#resizes.decide(facts, trigger ?? (hasEnded ? "pod_terminated" : "periodic_retry"));
  }

  #update(known: AdmittedPod, pod: Pod): void {
    const { events, declaredFeatures } = this.#options;
    const missing = undeclaredByChange(desiredOf(known), pod, declaredFeatures);
    this.#resizes.update(known, pod);
    if (missing === undefined) return;
    events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", "FailedNodeDeclaredFeaturesCheck", missing);
  }
}

/**
 * Takes in the pods the sources want: each new UID is admitted or rejected once, in the journal first, and its worker finds the verdict
 * in `admittedPods`, whose only writer this is. A verdict is never taken back; a UID whose containers already run is never judged.
 * What cannot be said yet is deferred: the pod waits, says for what, and is judged again when something that it may wait for changes.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import { changedWithin } from "../../concurrency/changed-within.ts";
import { type Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import { sleep } from "../../concurrency/sleep.ts";
import type { Watch } from "../../concurrency/turns.ts";
import { type Beside, type Judgement, judge } from "../../domain/admission/admission.ts";
import { undeclaredByChange } from "../../domain/admission/declared-features.ts";
import type { NodeForPods } from "../../domain/admission/node-for-pods.ts";
import { PREEMPTED } from "../../domain/admission/preemption.ts";
import type { Deferral, Rejection, Verdict } from "../../domain/admission/verdict.ts";
import { type AllocationFact, isOver, type UidFacts } from "../../domain/journal/facts.ts";
import { decisionRecord } from "../../domain/journal/records.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import { rejectionLabel } from "../../domain/metrics/rejection-reason.ts";
import type { ResizeMetrics } from "../../domain/metrics/resize-metrics.ts";
import { type AdmittedPod, desiredOf } from "../../domain/pod/admitted-pod.ts";
import { byCreation, type DesiredPod, type DesiredPods } from "../../domain/pod/desired-pod.ts";
import { initContainers, regularContainers } from "../../domain/pod/every-container.ts";
import { isStaticPod, keyOf } from "../../domain/pod/pod-identity.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { anyMayRun, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { isTerminal } from "../../domain/pod-status/phase.ts";
import { isCarriedOut } from "../../domain/resize/actuation.ts";
import { allocationOf, withAllocation } from "../../domain/resize/allocation.ts";
import type { ResizeSettings } from "../../domain/resize/decision.ts";
import { generationOf, pendingBefore } from "../../domain/resize/pod-resize.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import type { AdmissionContextReader } from "./admission-context.ts";
import { Departures } from "./departures.ts";
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
  readonly sourcesReady: LatestCell<boolean>;
  readonly facts: ReadonlyMap<string, UidFacts>;
  readonly context: Pick<AdmissionContextReader, "awaited" | "read" | "fetchNode">;
  readonly declaredFeatures: readonly string[] | undefined;
  readonly resize: ResizeSettings;
  readonly watch: Pick<Watch, "turned">;
  readonly podMetrics?: Pick<PodMetrics, "rejected" | "preempted">;
  readonly resizeMetrics?: ResizeMetrics;
}

interface Judged {
  readonly each: DesiredPod;
  readonly judgement: Judgement;
  /** Not in the journal yet. */
  readonly isNew: boolean;
}

const JOURNAL_RETRY_MS = 1_000;
/** The runtime's first answer is not waited for longer without a word. */
const UNLOOKED_NOTED_MS = 5_000;
/** The longest without a turn: nothing waits for it but the health check. */
const TURN_MS_MAX = 60_000;

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #departures: Departures;
  readonly #resizes: Resizes;
  /** Those of which the journal has that they wait for a first look at the runtime. */
  readonly #unlooked = new Set<string>();
  /** Counts the ends that somebody waits for. */
  readonly #ends = new LatestCell(0);
  #endsSeen = 0;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#departures = new Departures({ ...options, podMetrics: options.podMetrics });
    this.#resizes = new Resizes(
      { ...options, resizeMetrics: options.resizeMetrics },
      {
        taken: () => this.#taken(),
        beside: (taken) => this.#beside(taken),
        holds: (uid) => this.#holds(uid),
        preempt: (victim, preemptor, resource) => this.#preempt(victim, preemptor, resource),
      },
    );
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { desiredPods, listedSandboxes, podOutcomes, context, clock } = this.#options;
    const unwatch = podOutcomes.watch((uid) => {
      const isAwaited =
        this.#departures.has(uid, podOutcomes.get(uid)) || (!this.#holds(uid) && this.#resizes.areWaiting);
      if (isAwaited) this.#ends.set(this.#ends.value + 1);
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
        await sleep(clock, JOURNAL_RETRY_MS, shutdown).catch(() => undefined);
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
    const taken = this.#taken();
    const gone = [...admittedPods.keys()].filter((uid) => !desired.pods.has(uid));
    for (const uid of gone) admittedPods.delete(uid);
    const againMs = this.#departures.look((uid) => admittedPods.get(uid) !== undefined && this.#holds(uid));
    const judgeable = undecided.filter((each) => this.#isJudgeable(each));
    if (judgeable.length > 0) await this.#takeAllIn(judgeable, taken, shutdown);
    for (const each of undecided) if (!judgeable.includes(each)) this.#noteUnlooked(each);
    // Whoever is not even looked at yet is wanted all the same: until then nothing counts as unwanted.
    const isComplete = desired.sourcesReady && judgeable.length === undecided.length;
    if (isComplete && !sourcesReady.value) sourcesReady.set(true);
    const trigger = gone.length > 0 ? "pods_removed" : judgeable.length > 0 ? "pods_added" : undefined;
    await this.#resizeAll(isComplete, trigger, shutdown);
    return againMs;
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

  /** What an earlier agent decided stands. Of a pod that this journal does not know, the runtime must have been asked whether it runs. */
  #isJudgeable({ uid }: DesiredPod): boolean {
    const { facts, listedSandboxes } = this.#options;
    return listedSandboxes.value !== undefined || facts.get(uid)?.admission !== undefined;
  }

  #noteUnlooked(each: DesiredPod): void {
    const named = this.#named(each);
    if (this.#unlooked.has(each.uid) || named.wallMs - each.firstSeenWallMs < UNLOOKED_NOTED_MS) return;
    this.#unlooked.add(each.uid);
    const why = "WaitingForRuntime: the container runtime has not said yet what it runs";
    this.#options.journal.note(decisionRecord(named, { kind: "defer", why }));
  }

  async #takeAllIn(undecided: readonly DesiredPod[], taken: readonly Pod[], shutdown: AbortSignal): Promise<void> {
    const { context } = this.#options;
    const facts = await context.read(shutdown);
    let judged = this.#judgeAll(undecided, taken, facts);
    if (judged.some(({ judgement }) => judgement.kind === "misplaced")) {
      const node = await context.fetchNode(shutdown);
      if (node !== undefined) judged = this.#judgeAll(undecided, taken, { ...facts, node });
    }
    await Promise.all(judged.map((one) => this.#settle(one)));
  }

  /**
   * First those on which the word has been spoken, whose room is theirs whatever the node has become; then the others, older ones first:
   * the order in which the node promised itself to them. Each is judged beside those before it.
   */
  #judgeAll(undecided: readonly DesiredPod[], taken: readonly Pod[], facts: NodeForPods): readonly Judged[] {
    const settled = undecided.flatMap((each) => this.#settled(each) ?? []);
    const known = new Set(settled.map(({ each }) => each));
    const holding = settled.filter(({ each, judgement }) => judgement.kind === "admitted" && this.#holds(each.uid));
    let { staying, leaving } = this.#beside([...taken, ...holding.map(({ each }) => this.#asAllocated(each))]);
    const judged = undecided.filter((each) => !known.has(each)).sort(byCreation);
    return [
      ...settled,
      ...judged.map((each): Judged => {
        const pod = this.#asAllocated(each);
        const judgement = judge(pod, { staying, leaving }, facts);
        if (judgement.kind === "preempts") {
          const victims = new Set(judgement.victims);
          staying = staying.filter((pod) => !victims.has(pod));
          leaving = [...leaving, ...victims];
        }
        if (takesRoom(judgement)) staying = [...staying, pod];
        return { each, judgement, isNew: true };
      }),
    ];
  }

  /** Whom a pod is judged beside; nobody waits any more for those who were to leave and did not. */
  #beside(taken: readonly Pod[]): Beside {
    const { podOutcomes } = this.#options;
    const uidOf = ({ metadata }: Pod) => metadata?.uid ?? "";
    const isLeaving = (pod: Pod) => this.#departures.has(uidOf(pod), podOutcomes.get(uidOf(pod)));
    return {
      staying: taken.filter((pod) => !isLeaving(pod)),
      leaving: taken.filter((pod) => isLeaving(pod) && !this.#departures.isLate(uidOf(pod))),
    };
  }

  /** Pods that were taken in and are not over: what they have of the node is theirs. */
  #taken(): Pod[] {
    const { admittedPods } = this.#options;
    return [...admittedPods.keys()].flatMap((uid) => {
      const known = admittedPods.get(uid);
      return known?.verdict.kind === "admitted" && this.#holds(uid) ? [known.pod] : [];
    });
  }

  #holds(uid: string): boolean {
    const { podOutcomes, facts } = this.#options;
    const kind = podOutcomes.get(uid)?.lifecycle.kind;
    // Until its worker has spoken, what an earlier agent noted.
    return kind === undefined
      ? facts.get(uid)?.finishedWallMs === undefined
      : kind !== "terminated" && kind !== "finished";
  }

  /** Not to be judged: an earlier agent has, or it runs, or it is over. */
  #settled(each: DesiredPod): Judged | undefined {
    const { uid, pod } = each;
    const before = this.#options.facts.get(uid);
    const isStatic = isStaticPod(pod);
    // A UID that is over is not taken in again, unless its manifest went and came back.
    if (before?.admission?.kind === "rejected") {
      return { each, judgement: { kind: "rejected", rejection: before.admission }, isNew: false };
    }
    const goesOn = before !== undefined && (before.finishedWallMs === undefined || isOver(before, isStatic));
    const admitted = { kind: "admitted" } as const;
    if (goesOn && before.admission?.kind === "admitted") return { each, judgement: admitted, isNew: false };
    const hasEnded = pod.metadata?.deletionTimestamp !== undefined || (isTerminal(pod.status?.phase) && !isStatic);
    return hasEnded || this.#mayRun(uid) ? { each, judgement: admitted, isNew: true } : undefined;
  }

  /** What the runtime lists but nobody has looked at yet may run. */
  #mayRun(uid: string): boolean {
    const { podRuntimeStatus, listedSandboxes } = this.#options;
    const view = podRuntimeStatus.get(uid);
    if (view !== undefined) return anyMayRun(view);
    return (listedSandboxes.value ?? []).some(({ metadata }) => metadata.uid === uid);
  }

  async #settle({ each, judgement, isNew }: Judged): Promise<void> {
    switch (judgement.kind) {
      case "admitted":
        return this.#admit(each, isNew);
      case "misplaced":
      case "rejected":
        return this.#reject(each, judgement.rejection, isNew);
      case "preempts":
        for (const victim of judgement.victims) this.#preempt(victim, each.pod, judgement.resource);
        return this.#defer(each, judgement.deferral);
      case "deferred":
        return this.#defer(each, judgement.deferral);
      default:
        return assertNever(judgement);
    }
  }

  async #admit(each: DesiredPod, isNew: boolean): Promise<void> {
    const { journal } = this.#options;
    const noted: Promise<void>[] = [];
    if (isNew) {
      const parts = [...initContainers(each.pod.spec), ...regularContainers(each.pod.spec)];
      const containers = parts.map(({ role, container }) => ({ role, name: container.name }));
      journal.note(decisionRecord(this.#named(each), { kind: "admit", containers }));
      noted.push(journal.append({ kind: "admitted", ...this.#named(each) }));
    }
    const before = this.#before(each);
    if (isNew || before === undefined || before.isForeign) {
      const [allocation, generation] = [allocationOf(this.#asAllocated(each)), generationOf(each.pod)];
      noted.push(journal.append({ kind: "allocated", ...this.#named(each), generation, allocation }));
      if (before !== undefined && isCarriedOut(before)) {
        noted.push(journal.append({ kind: "resized", ...this.#named(each), generation }));
      }
    }
    await Promise.all(noted);
    this.#publish(each, { kind: "admitted" });
  }

  /** What it was allocated in this life, by an agent before us. */
  #before({ uid }: DesiredPod): AllocationFact | undefined {
    const before = this.#options.facts.get(uid);
    return before?.finishedWallMs === undefined ? before?.allocated : undefined;
  }

  #asAllocated(each: DesiredPod): Pod {
    const before = this.#before(each);
    return before === undefined ? each.pod : withAllocation(each.pod, before.allocation);
  }

  async #reject(each: DesiredPod, rejection: Rejection, isNew: boolean): Promise<void> {
    const { journal, podMetrics } = this.#options;
    if (isNew) {
      const { reason, message } = rejection;
      await journal.append({ kind: "rejected", ...this.#named(each), reason, message });
      podMetrics?.rejected.increment(rejectionLabel(reason));
      this.#emit(each.pod, "Warning", rejection);
    }
    this.#publish(each, { kind: "rejected", rejection });
  }

  #defer(each: DesiredPod, deferral: Deferral): void {
    const { journal, admittedPods } = this.#options;
    if (sameDeferral(admittedPods.get(each.uid)?.verdict, deferral)) return;
    const { reason, message } = deferral;
    journal.note(decisionRecord(this.#named(each), { kind: "defer", why: `${reason}: ${message}` }));
    this.#emit(each.pod, "Normal", deferral);
    this.#publish(each, { kind: "deferred", deferral });
  }

  #preempt(victim: Pod, preemptor: Pod, resource: string): void {
    const { journal, admittedPods, clock } = this.#options;
    const { uid } = podNameOfObject(victim);
    const known = admittedPods.get(uid);
    if (known === undefined) return;
    const why = `${keyOf(preemptor)} is critical and finds too little ${resource}`;
    journal.note(decisionRecord({ uid, pod: keyOf(victim), wallMs: clock.wallMs() }, { kind: "preempt", why }));
    this.#departures.begin(victim, resource);
    admittedPods.set(uid, { ...known, ends: PREEMPTED });
  }

  #named({ uid, pod }: DesiredPod) {
    return { uid, pod: keyOf(pod), wallMs: this.#options.clock.wallMs() };
  }

  #publish(each: DesiredPod, verdict: Verdict): void {
    const { uid, pod: desired, firstSeenWallMs, found } = each;
    const pod = verdict.kind === "admitted" ? this.#asAllocated(each) : desired;
    const before = this.#before(each);
    const isUnderWay = before !== undefined && !isCarriedOut(before);
    const pending = pod === desired ? undefined : pendingBefore(desired);
    const resize = {
      desired,
      ...(isUnderWay && { granted: before.generation || generationOf(desired) }),
      ...(pending !== undefined && { pending }),
    };
    const isStatic = isStaticPod(desired);
    const isNeeded = verdict.kind === "admitted" && (pod !== desired || isUnderWay);
    this.#options.admittedPods.set(uid, {
      uid,
      pod,
      isStatic,
      firstSeenWallMs,
      found,
      verdict,
      ...(isNeeded && { resize }),
    });
  }

  #emit(pod: Pod, type: "Normal" | "Warning", { reason, message }: Rejection | Deferral): void {
    const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
    this.#options.events.emit({ kind: "Pod", name, namespace, uid }, type, reason, message);
  }
}

const sameDeferral = (known: Verdict | undefined, { reason, message }: Deferral): boolean =>
  known?.kind === "deferred" && known.deferral.reason === reason && known.deferral.message === message;

/** Also before it is taken: room that is being made for it is nobody else's. */
const takesRoom = (judgement: Judgement): boolean =>
  judgement.kind === "admitted" ||
  judgement.kind === "preempts" ||
  (judgement.kind === "deferred" && judgement.deferral.reason === "WaitingForPreemption");

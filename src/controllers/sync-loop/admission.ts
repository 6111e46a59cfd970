/**
 * Admits or rejects each new pod once, in the journal first, and publishes the verdict in `admittedPods`. A verdict is never taken back; a UID whose
 * containers already run is never judged. What cannot be decided yet is deferred: the pod waits, and its status says for what.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { assertNever } from "../../base/assert.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import { type Judgement, judge } from "../../domain/admission/admission.ts";
import type { NodeForPods } from "../../domain/admission/node-for-pods.ts";
import type { Deferral, Rejection, Verdict } from "../../domain/admission/verdict.ts";
import type { PodAllocation } from "../../domain/allocation/pod-allocation.ts";
import { type AllocationFact, isOver, type UidFacts } from "../../domain/journal/facts.ts";
import { allocatedRecord, decisionRecord } from "../../domain/journal/records.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import { rejectionLabel } from "../../domain/metrics/rejection-reason.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { byCreation, type DesiredPod } from "../../domain/pod/desired-pod.ts";
import { initContainers, regularContainers } from "../../domain/pod/every-container.ts";
import { isStaticPod, keyOf } from "../../domain/pod/pod-identity.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { mayRunOnNode, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import { isTerminal } from "../../domain/pod-status/phase.ts";
import { isCarriedOut } from "../../domain/resize/actuation.ts";
import { allocationOf, withAllocation } from "../../domain/resize/allocation.ts";
import { generationOf, pendingBefore } from "../../domain/resize/pod-resize.ts";
import type { Sandbox } from "../../domain/runtime/sandbox.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { AdmissionContextReader } from "./admission-context.ts";
import type { HoldingPods } from "./holding-pods.ts";
import type { Preemptions } from "./preemptions.ts";

export interface AdmissionParts {
  readonly journal: Journal;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly podRuntimeStatus: ReadTable<string, PodRuntimeView>;
  /** Undefined until the runtime has been asked what it has. */
  readonly listedSandboxes: Latest<readonly Sandbox[] | undefined>;
  readonly admittedPods: LatestTable<string, AdmittedPod>;
  readonly facts: ReadonlyMap<string, UidFacts>;
  readonly context: Pick<AdmissionContextReader, "read" | "fetchNode">;
  readonly podMetrics?: Pick<PodMetrics, "rejected">;
}

interface Judged {
  readonly each: DesiredPod;
  readonly judgement: Judgement;
  /** Not in the journal yet. */
  readonly isNew: boolean;
}

/** The runtime's first answer is not waited for longer without a word. */
const UNLOOKED_NOTED_MS = 5_000;

export class Admission {
  readonly #parts: AdmissionParts;
  readonly #holding: HoldingPods;
  readonly #preemptions: Pick<Preemptions, "begin">;
  /** Those of which the journal has that they wait for a first look at the runtime. */
  readonly #unlooked = new Set<string>();

  constructor(parts: AdmissionParts, holding: HoldingPods, preemptions: Pick<Preemptions, "begin">) {
    this.#parts = parts;
    this.#holding = holding;
    this.#preemptions = preemptions;
  }

  /** What an earlier agent decided stands. Of a pod that this journal does not know, the runtime must have been asked whether it runs. */
  isJudgeable({ uid }: DesiredPod): boolean {
    const { facts, listedSandboxes } = this.#parts;
    return listedSandboxes.value !== undefined || facts.get(uid)?.admission !== undefined;
  }

  /** Of a pod that cannot be judged yet. */
  noteUnlooked(each: DesiredPod): void {
    const named = this.#named(each);
    if (this.#unlooked.has(each.uid) || named.wallMs - each.firstSeenWallMs < UNLOOKED_NOTED_MS) return;
    this.#unlooked.add(each.uid);
    const why = "WaitingForRuntime: the container runtime has not said yet what it runs";
    this.#parts.journal.note(decisionRecord(named, { kind: "defer", why }));
  }

  async decide(undecided: readonly DesiredPod[], holding: readonly Pod[], shutdown: AbortSignal): Promise<void> {
    const { context } = this.#parts;
    const facts = await context.read(shutdown);
    let judged = this.#judgeAll(undecided, holding, facts);
    if (judged.some(({ judgement }) => judgement.kind === "misplaced")) {
      const node = await context.fetchNode(shutdown);
      if (node !== undefined) judged = this.#judgeAll(undecided, holding, { ...facts, node });
    }
    await Promise.all(judged.map((one) => this.#settle(one)));
  }

  /**
   * First those whose verdict an earlier agent gave, whose room is theirs whatever the node has become; then the others, older ones first:
   * the order in which the node promised itself to them. Each is judged beside those before it.
   */
  #judgeAll(undecided: readonly DesiredPod[], holding: readonly Pod[], facts: NodeForPods): readonly Judged[] {
    const settled = undecided.flatMap((each) => this.#settled(each) ?? []);
    const known = new Set(settled.map(({ each }) => each));
    const admitted = settled.filter(
      ({ each, judgement }) => judgement.kind === "admitted" && this.#holding.holds(each.uid),
    );
    const others = [...holding, ...admitted.map(({ each }) => this.#asAllocated(each))];
    let { staying, leaving } = this.#holding.beside(others);
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

  /** Not to be judged: an earlier agent has, or it runs, or it has ended. */
  #settled(each: DesiredPod): Judged | undefined {
    const { uid, pod } = each;
    const before = this.#parts.facts.get(uid);
    const isStatic = isStaticPod(pod);
    // A UID that has ended is not admitted again, unless its manifest went and came back.
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
    const { podRuntimeStatus, listedSandboxes } = this.#parts;
    return mayRunOnNode(uid, podRuntimeStatus.get(uid), listedSandboxes.value ?? []);
  }

  async #settle({ each, judgement, isNew }: Judged): Promise<void> {
    switch (judgement.kind) {
      case "admitted":
        return this.#admit(each, isNew);
      case "misplaced":
      case "rejected":
        return this.#reject(each, judgement.rejection, isNew);
      case "preempts":
        for (const victim of judgement.victims) this.#preemptions.begin(victim, each.pod, judgement.resource);
        return this.#defer(each, judgement.deferral);
      case "deferred":
        return this.#defer(each, judgement.deferral);
      default:
        return assertNever(judgement);
    }
  }

  async #admit(each: DesiredPod, isNew: boolean): Promise<void> {
    const { journal } = this.#parts;
    const allocation = this.#given(each);
    const noted: Promise<void>[] = [];
    if (isNew) {
      const parts = [...initContainers(each.pod.spec), ...regularContainers(each.pod.spec)];
      const containers = parts.map(({ role, container }) => ({ role, name: container.name }));
      journal.note(decisionRecord(this.#named(each), { kind: "admit", containers }));
      noted.push(journal.append({ kind: "admitted", ...this.#named(each) }));
    }
    const before = this.#before(each);
    if (isNew || before === undefined || before.isForeign) {
      const generation = generationOf(each.pod);
      noted.push(journal.append(allocatedRecord(this.#named(each), generation, allocation)));
      if (before !== undefined && isCarriedOut(before)) {
        noted.push(journal.append({ kind: "resized", ...this.#named(each), generation }));
      }
    }
    await Promise.all(noted);
    this.#publish(each, { kind: "admitted", allocation });
  }

  /** What it was allocated in this life, by an agent before us. */
  #before({ uid }: DesiredPod): AllocationFact | undefined {
    const before = this.#parts.facts.get(uid);
    return before?.finishedWallMs === undefined ? before?.allocated : undefined;
  }

  #asAllocated(each: DesiredPod): Pod {
    const before = this.#before(each);
    return before === undefined ? each.pod : withAllocation(each.pod, before.allocation);
  }

  /** Of an earlier agent, or what the spec names. */
  #given(each: DesiredPod): PodAllocation {
    const resources = allocationOf(this.#asAllocated(each));
    return { resources, containers: this.#before(each)?.containerAllocations ?? {} };
  }

  async #reject(each: DesiredPod, rejection: Rejection, isNew: boolean): Promise<void> {
    const { journal, podMetrics } = this.#parts;
    if (isNew) {
      const { reason, message } = rejection;
      await journal.append({ kind: "rejected", ...this.#named(each), reason, message });
      podMetrics?.rejected.increment(rejectionLabel(reason));
      this.#emit(each.pod, "Warning", rejection);
    }
    this.#publish(each, { kind: "rejected", rejection });
  }

  #defer(each: DesiredPod, deferral: Deferral): void {
    const { journal, admittedPods } = this.#parts;
    if (sameDeferral(admittedPods.get(each.uid)?.verdict, deferral)) return;
    const { reason, message } = deferral;
    journal.note(decisionRecord(this.#named(each), { kind: "defer", why: `${reason}: ${message}` }));
    this.#emit(each.pod, "Normal", deferral);
    this.#publish(each, { kind: "deferred", deferral });
  }

  #named({ uid, pod }: DesiredPod) {
    return { uid, pod: keyOf(pod), wallMs: this.#parts.clock.wallMs() };
  }

  #publish(each: DesiredPod, verdict: Verdict): void {
    const { uid, pod: desired, firstSeenWallMs, found } = each;
    const pod = verdict.kind === "admitted" ? withAllocation(desired, verdict.allocation.resources) : desired;
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
    this.#parts.admittedPods.set(uid, {
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
    this.#parts.events.emit({ kind: "Pod", ...podNameOfObject(pod) }, type, reason, message);
  }
}

const sameDeferral = (known: Verdict | undefined, { reason, message }: Deferral): boolean =>
  known?.kind === "deferred" && known.deferral.reason === reason && known.deferral.message === message;

/** Also before it is admitted: room that is being made for it is nobody else's. */
const takesRoom = (judgement: Judgement): boolean =>
  judgement.kind === "admitted" ||
  judgement.kind === "preempts" ||
  (judgement.kind === "deferred" && judgement.deferral.reason === "WaitingForPreemption");

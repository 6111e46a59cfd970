/**
 * Takes in the pods the sources want: each new UID is admitted or rejected once, in the journal first, and its worker finds the verdict
 * in `admittedPods`, whose only writer this is. A verdict is never taken back; a UID whose containers already run is never rejected.
 */
import { changedWithin } from "../../concurrency/changed-within.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import { sleep } from "../../concurrency/sleep.ts";
import { notBuilt, type Rejection } from "../../domain/admission/not-built.ts";
import { isOver, type UidFacts } from "../../domain/journal/facts.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { DesiredPod, DesiredPods } from "../../domain/pod/desired-pod.ts";
import { isStaticPod, keyOf } from "../../domain/pod/pod-identity.ts";
import { anyMayRun, type PodRuntimeView } from "../../domain/pod/runtime-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";

export interface SyncLoopOptions {
  readonly journal: Journal;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Log;
  readonly desiredPods: Latest<DesiredPods>;
  readonly podRuntimeStatus: ReadTable<string, PodRuntimeView>;
  readonly admittedPods: LatestTable<string, AdmittedPod>;
  readonly sourcesReady: LatestCell<boolean>;
  readonly facts: ReadonlyMap<string, UidFacts>;
  /** Told at each turn, for the health check. */
  readonly turned: () => void;
}

const JOURNAL_RETRY_MS = 1_000;
/** The longest without a turn: nothing waits for it but the health check. */
const TURN_MS_MAX = 60_000;

export class SyncLoop {
  readonly #options: SyncLoopOptions;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { desiredPods, clock } = this.#options;
    while (!shutdown.aborted) {
      const seen = desiredPods.version;
      this.#options.turned();
      try {
        await this.#turn(desiredPods.value);
      } catch (error) {
        this.#options.log.error("pods could not be taken in", error);
        await sleep(clock, JOURNAL_RETRY_MS, shutdown).catch(() => undefined);
        continue;
      }
      // Rejects only when the signal aborts, which ends the loop.
      await changedWithin(clock, [{ cell: desiredPods, seen }], TURN_MS_MAX, shutdown).catch(() => undefined);
    }
  }

  async #turn(desired: DesiredPods): Promise<void> {
    const { admittedPods, sourcesReady } = this.#options;
    const fresh: DesiredPod[] = [];
    for (const pod of desired.pods.values()) {
      const known = admittedPods.get(pod.uid);
      if (known === undefined) fresh.push(pod);
      else if (known.pod !== pod.pod) admittedPods.set(pod.uid, { ...known, pod: pod.pod });
    }
    // Older pods first: the order in which the node promised itself to them.
    await Promise.all(fresh.sort(byCreation).map((pod) => this.#takeIn(pod)));
    for (const uid of admittedPods.keys()) if (!desired.pods.has(uid)) admittedPods.delete(uid);
    if (desired.sourcesReady && !sourcesReady.value) sourcesReady.set(true);
  }

  async #takeIn(desired: DesiredPod): Promise<void> {
    const { uid, pod } = desired;
    const verdict = await this.#judge(desired);
    const { firstSeenWallMs } = desired;
    this.#options.admittedPods.set(uid, { uid, pod, isStatic: isStaticPod(pod), firstSeenWallMs, verdict });
  }

  async #judge({ uid, pod }: DesiredPod): Promise<AdmittedPod["verdict"]> {
    const { journal, clock, facts, podRuntimeStatus } = this.#options;
    const before = facts.get(uid);
    const isStatic = isStaticPod(pod);
    // A UID that is over is not taken in again, unless its manifest went and came back.
    if (before?.admission?.kind === "rejected") return { kind: "rejected", rejection: before.admission };
    const goesOn = before !== undefined && (before.finishedWallMs === undefined || isOver(before, isStatic));
    if (goesOn && before.admission?.kind === "admitted") return { kind: "admitted" };
    const view = podRuntimeStatus.get(uid);
    const running = view !== undefined && anyMayRun(view);
    const rejection = running || pod.metadata?.deletionTimestamp !== undefined ? undefined : notBuilt(pod);
    const common = { uid, pod: keyOf(pod), wallMs: clock.wallMs() };
    if (rejection === undefined) {
      await journal.append({ kind: "admitted", ...common });
      return { kind: "admitted" };
    }
    await journal.append({ kind: "rejected", ...common, reason: rejection.reason, message: rejection.message });
    this.#tell(pod, rejection);
    return { kind: "rejected", rejection };
  }

  #tell(pod: DesiredPod["pod"], { reason, message }: Rejection): void {
    const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
    this.#options.events.emit({ kind: "Pod", name, namespace, uid }, "Warning", reason, message);
  }
}

function byCreation(a: DesiredPod, b: DesiredPod): number {
  const first = a.pod.metadata?.creationTimestamp ?? "";
  const second = b.pod.metadata?.creationTimestamp ?? "";
  if (first !== second) return first < second ? -1 : 1;
  return a.uid < b.uid ? -1 : 1;
}

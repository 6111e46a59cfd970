/**
 * Follows each pod's termination through its steps. The journal notes each change of step and writes it to disk once
 * the step has lasted `WORTH_A_WRITE_MS`; failures are written at once. A termination that is stuck after its grace
 * period stays in `blockedTerminations` until it proceeds. The pod gets one event per blocked step.
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { aborted } from "../../concurrency/abort.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import {
  afterReport,
  type BlockedTermination,
  type Ending,
  errorOf,
  hasPassed,
  isNews,
  judgeTermination,
  type StepReport,
  type TerminationReport,
} from "../../domain/pod/ending.ts";
import { TERMINATION_BLOCKED } from "../../domain/pod-status/conditions.ts";
import { endTrouble, type PodVolumes } from "../../domain/volumes/volume-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";

export interface TerminationTrackerParts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly events: EventSink;
  readonly log: Log;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly terminationSteps: ReadonlyTable<string, TerminationReport>;
  readonly mountState: ReadonlyTable<string, PodVolumes>;
  readonly publishTroubles: ReadonlyTable<string, StepReport>;
  readonly blockedTerminations: LatestTable<string, BlockedTermination>;
}

/** A step that finishes sooner does not justify its own disk write. */
const WORTH_A_WRITE_MS = 1_000;

interface Followed {
  readonly pod: string;
  readonly ending: Ending;
  readonly sinceMonotonicMs: number;
  /** The step's record is on disk. */
  readonly isKept: boolean;
}

export class TerminationTracker {
  readonly #parts: TerminationTrackerParts;
  readonly #followed = new Map<string, Followed>();

  constructor(parts: TerminationTrackerParts) {
    this.#parts = parts;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { clock, log, terminationSteps, mountState, publishTroubles } = this.#parts;
    const loop = new KeyedLoop<string>({
      clock,
      turn: (uid, { wakeIn }) => this.#turn(uid, wakeIn),
      onBug: (uid, error) => log.error("Unexpected error while tracking a pod's termination", error, { uid }),
      shutdown,
    });
    const wake = (uid: string) => {
      if (terminationSteps.get(uid) !== undefined || this.#followed.has(uid)) loop.wake(uid);
      else loop.cancelWakeup(uid);
    };
    for (const table of [terminationSteps, mountState, publishTroubles]) loop.watch(table, wake);
    for (const uid of terminationSteps.keys()) wake(uid);
    await loop.run(() => aborted(shutdown));
  }

  async #turn(uid: string, wakeIn: (ms: number) => void): Promise<void> {
    const before = this.#followed.get(uid);
    const report = this.#report(uid);
    if (report === undefined) return this.#leave(uid, before);
    const nowMs = this.#parts.clock.monotonicMs();
    const ending = afterReport(before?.ending, report, nowMs);
    const isNew = isNews(before?.ending, ending);
    const sinceMonotonicMs = isNew || before === undefined ? nowMs : before.sinceMonotonicMs;
    const followed = {
      pod: report.pod,
      ending,
      sinceMonotonicMs,
      isKept: !isNew && before?.isKept === true,
    };
    this.#followed.set(uid, followed);
    this.#judge(uid, ending, wakeIn);
    await this.#keep(uid, followed, isNew, wakeIn);
  }

  /**
   * What holds up the termination now: the step that the worker reports, with the error of the loop that the step waits
   * for.
   */
  #report(uid: string): TerminationReport | undefined {
    const { terminationSteps, mountState, publishTroubles } = this.#parts;
    const report = terminationSteps.get(uid);
    if (report?.step === "volumes") return { ...report, ...endTrouble(mountState.get(uid)) };
    if (report?.step === "status") return { ...report, ...publishTroubles.get(uid) };
    return report;
  }

  #judge(uid: string, ending: Ending, wakeIn: (ms: number) => void): void {
    const { clock, events, admittedPods, blockedTerminations } = this.#parts;
    const verdict = judgeTermination(ending, clock.monotonicMs());
    const pod = admittedPods.get(uid)?.pod;
    const reported = this.#reported(uid, pod);
    if (verdict.kind === "onItsWay") {
      const isUnblocked = verdict.lookInMs === undefined || (reported !== undefined && hasPassed(ending, reported));
      if (reported !== undefined && isUnblocked) blockedTerminations.set(uid, { kind: "free" });
      if (verdict.lookInMs !== undefined) wakeIn(verdict.lookInMs);
      return;
    }
    const { reason, message } = verdict.by;
    if (reported !== reason && pod !== undefined) events.emit(podSubject(pod), "Warning", TERMINATION_BLOCKED, message);
    const known = blockedTerminations.get(uid);
    const isSame = known?.kind === "blocked" && known.by.reason === reason && known.by.message === message;
    if (!isSame) blockedTerminations.set(uid, verdict);
  }

  /**
   * The step that the published condition or event names as blocked, from this process or a previous kubelet process.
   */
  #reported(uid: string, pod: Pod | undefined): string | undefined {
    const known = this.#parts.blockedTerminations.get(uid);
    if (known !== undefined) return known.kind === "blocked" ? known.by.reason : undefined;
    return pod?.status?.conditions?.find(({ type }) => type === TERMINATION_BLOCKED)?.reason;
  }

  async #keep(uid: string, followed: Followed, isNew: boolean, wakeIn: (ms: number) => void): Promise<void> {
    const { clock, journal, log } = this.#parts;
    if (followed.isKept) return;
    const record = this.#recordOf(uid, followed);
    const leftMs = followed.sinceMonotonicMs + WORTH_A_WRITE_MS - clock.monotonicMs();
    // In these last steps the pod is already "finished": nothing on this node is stuck.
    const isFinished = record.step === "status" || record.step === "object";
    if (record.state !== "failed" && (leftMs > 0 || isFinished)) {
      if (isNew) journal.note(record);
      if (!isFinished) wakeIn(leftMs);
      return;
    }
    try {
      await journal.append(record);
      this.#followed.set(uid, { ...followed, isKept: true });
    } catch (error) {
      log.error("Failed to write the journal", error, { uid });
      wakeIn(WORTH_A_WRITE_MS);
    }
  }

  #leave(uid: string, before: Followed | undefined): void {
    if (before === undefined) return;
    this.#followed.delete(uid);
    this.#parts.blockedTerminations.delete(uid);
    this.#parts.journal.note({ ...this.#recordOf(uid, before), state: "done", error: "" });
  }

  #recordOf(uid: string, { pod, ending }: Followed): Extract<JournalRecord, { kind: "ending" }> {
    const error = errorOf(ending);
    return {
      kind: "ending",
      uid,
      pod,
      wallMs: this.#parts.clock.wallMs(),
      step: ending.current,
      state: error === undefined ? "begun" : "failed",
      attempts: ending.steps.get(ending.current)?.attempts ?? 0,
      error: error ?? "",
    };
  }
}

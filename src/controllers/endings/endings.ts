/**
 * Follows the end of each pod through its steps. Each change of step is in the journal, on disk once the step has lasted a moment; each failure is at once. An
 * end that hangs after its grace is in `blockedEnds` until it goes on, and its pod's owner has heard of it, once for each step.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import { untilAborted } from "../../concurrency/until-aborted.ts";
import type { JournalRecord } from "../../domain/journal/records.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import {
  afterReport,
  type Ending,
  type EndNews,
  type EndReport,
  errorOf,
  hasPassed,
  isNews,
  judgeEnd,
  type StepReport,
} from "../../domain/pod/ending.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { TERMINATION_BLOCKED } from "../../domain/pod-status/conditions.ts";
import { endTrouble, type PodVolumes } from "../../domain/volumes/volume-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";

export interface EndingsParts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly events: EventSink;
  readonly log: Log;
  readonly admittedPods: ReadTable<string, AdmittedPod>;
  readonly endSteps: ReadTable<string, EndReport>;
  readonly mountState: ReadTable<string, PodVolumes>;
  readonly publishTroubles: ReadTable<string, StepReport>;
  readonly blockedEnds: LatestTable<string, EndNews>;
}

/** A step that is done sooner is not worth a write of its own. */
const WORTH_A_WRITE_MS = 1_000;

interface Followed {
  readonly pod: string;
  readonly ending: Ending;
  readonly sinceMonotonicMs: number;
  /** What is to be told of it is on disk. */
  readonly isKept: boolean;
}

export class Endings {
  readonly #parts: EndingsParts;
  readonly #followed = new Map<string, Followed>();

  constructor(parts: EndingsParts) {
    this.#parts = parts;
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { clock, log, endSteps, mountState, publishTroubles } = this.#parts;
    const loop = new KeyedLoop<string>({
      clock,
      turn: (uid, { wakeIn }) => this.#turn(uid, wakeIn),
      onBug: (uid, error) => log.error("a pod's end could not be followed, in an unforeseen way", error, { uid }),
      shutdown,
    });
    const wake = (uid: string) => {
      if (endSteps.get(uid) !== undefined || this.#followed.has(uid)) loop.wake(uid);
      else loop.cancelAlarm(uid);
    };
    for (const table of [endSteps, mountState, publishTroubles]) loop.watch(table, wake);
    for (const uid of endSteps.keys()) wake(uid);
    await loop.run(() => untilAborted(shutdown));
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

  /** What holds up the end now: what the worker says, or what it waits for. */
  #report(uid: string): EndReport | undefined {
    const { endSteps, mountState, publishTroubles } = this.#parts;
    const report = endSteps.get(uid);
    if (report?.step === "volumes") return { ...report, ...endTrouble(mountState.get(uid)) };
    if (report?.step === "status") return { ...report, ...publishTroubles.get(uid) };
    return report;
  }

  #judge(uid: string, ending: Ending, wakeIn: (ms: number) => void): void {
    const { clock, events, admittedPods, blockedEnds } = this.#parts;
    const verdict = judgeEnd(ending, clock.monotonicMs());
    const pod = admittedPods.get(uid)?.pod;
    const told = this.#told(uid, pod);
    if (verdict.kind === "onItsWay") {
      const isOver = verdict.lookInMs === undefined || (told !== undefined && hasPassed(ending, told));
      if (told !== undefined && isOver) blockedEnds.set(uid, { kind: "free" });
      if (verdict.lookInMs !== undefined) wakeIn(verdict.lookInMs);
      return;
    }
    const { reason, message } = verdict.by;
    if (told !== reason && pod !== undefined)
      events.emit({ kind: "Pod", ...podNameOfObject(pod) }, "Warning", TERMINATION_BLOCKED, message);
    const known = blockedEnds.get(uid);
    const isSame = known?.kind === "blocked" && known.by.reason === reason && known.by.message === message;
    if (!isSame) blockedEnds.set(uid, verdict);
  }

  /** By which step its owner knows it to be blocked, from us or from an agent before us. */
  #told(uid: string, pod: Pod | undefined): string | undefined {
    const known = this.#parts.blockedEnds.get(uid);
    if (known !== undefined) return known.kind === "blocked" ? known.by.reason : undefined;
    return pod?.status?.conditions?.find(({ type }) => type === TERMINATION_BLOCKED)?.reason;
  }

  async #keep(uid: string, followed: Followed, isNew: boolean, wakeIn: (ms: number) => void): Promise<void> {
    const { clock, journal, log } = this.#parts;
    if (followed.isKept) return;
    const record = this.#recordOf(uid, followed);
    const leftMs = followed.sinceMonotonicMs + WORTH_A_WRITE_MS - clock.monotonicMs();
    // At the last steps it is "finished" already: nothing on this node hangs.
    const isOver = record.step === "status" || record.step === "object";
    if (record.state !== "failed" && (leftMs > 0 || isOver)) {
      if (isNew) journal.note(record);
      if (!isOver) wakeIn(leftMs);
      return;
    }
    try {
      await journal.append(record);
      this.#followed.set(uid, { ...followed, isKept: true });
    } catch (error) {
      log.error("the journal could not be written", error, { uid });
      wakeIn(WORTH_A_WRITE_MS);
    }
  }

  #leave(uid: string, before: Followed | undefined): void {
    if (before === undefined) return;
    this.#followed.delete(uid);
    this.#parts.blockedEnds.delete(uid);
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

/**
 * Schedules every probe of every container and processes the results. All probes of the node share one timer. At most
 * one run of a probe is in flight; runs that become due meanwhile are skipped.
 */

import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { DueQueue } from "../../concurrency/due-queue.ts";
import { type LinkedSignal, linkSignals } from "../../concurrency/link-signals.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { ProbeMetrics } from "../../domain/metrics/probe-metrics.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { countResult, NO_RESULTS, type ResultRun } from "../../domain/probes/count.ts";
import { type ProbeOutcome, probeName, reportOf, resultOf } from "../../domain/probes/outcome.ts";
import { needsAddress, type ProbeKind, type ProbeSpec, probesOf } from "../../domain/probes/probe-spec.ts";
import { firstDueMs, isEarly, nextDueMs, spreadDueMs } from "../../domain/probes/schedule.ts";
import { isAsked, type ProbeVerdicts, sameVerdicts } from "../../domain/probes/verdicts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { type AskParts, ask, type Question, questionOf } from "./ask.ts";

/** A running container to probe. */
export interface AskedContainer {
  readonly id: string;
  readonly pod: Pod;
  readonly container: Container;
  readonly fieldPath: string;
  readonly lifecycle: PodLifecycle["kind"];
  /** When the container started, on the monotonic clock. */
  readonly startedMs: number;
  /** The container was already running when this kubelet process started. */
  readonly isFound: boolean;
}

export interface ProbeRoundsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventSink;
  readonly log: Log;
  readonly metrics: ProbeMetrics;
  /** Returns the pod's address; undefined while it is unknown: then nothing is probed. */
  readonly addressOf: (pod: Pod) => Promise<string | undefined>;
  /** Called after each result that counts. */
  readonly onAnswer: (id: string) => void;
}

interface ActiveProbe {
  readonly of: Rounds;
  readonly spec: ProbeSpec;
  readonly firstMs: number;
  readonly own: LinkedSignal;
  dueMs: number;
  run: ResultRun;
  /** The prepared probe, valid while address and container are unchanged. */
  made?: { readonly ip: string; readonly asked: AskedContainer; readonly question: Question };
}

interface Rounds {
  asked: AskedContainer;
  verdicts: ProbeVerdicts;
  /** The earliest time of liveness and readiness probes: the container's start, or the success of its startup probe. */
  sinceMs: number;
  /** Shared by all probes of a container, so that probes with the same command run together. */
  readonly phase: number;
  readonly life: LinkedSignal;
  readonly active: Map<ProbeKind, ActiveProbe>;
}

export class ProbeRounds {
  readonly #options: ProbeRoundsOptions;
  readonly #parts: AskParts;
  readonly #shutdown: AbortSignal;
  readonly #due: DueQueue<ActiveProbe>;
  readonly #rounds = new Map<string, Rounds>();
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: ProbeRoundsOptions, parts: AskParts, shutdown: AbortSignal) {
    this.#options = options;
    this.#parts = parts;
    this.#shutdown = shutdown;
    this.#due = new DueQueue(options.clock, (probe) => this.#begin(probe));
  }

  askedOf(id: string): AskedContainer | undefined {
    return this.#rounds.get(id)?.asked;
  }

  verdictsOf(id: string): ProbeVerdicts | undefined {
    return this.#rounds.get(id)?.verdicts;
  }

  /** Adds or updates a container. `verdicts`: the known results of a container that was not probed before. */
  keep(asked: AskedContainer, verdicts: ProbeVerdicts): void {
    const known = this.#rounds.get(asked.id);
    const rounds = known ?? {
      asked,
      verdicts,
      sinceMs: asked.startedMs,
      phase: this.#options.random.fraction(),
      life: linkSignals(this.#shutdown),
      active: new Map(),
    };
    // The start time is computed once, when the container is first observed: wall clock changes must not change its
    // age.
    const { startedMs, isFound } = rounds.asked;
    rounds.asked = { ...asked, startedMs, isFound };
    this.#rounds.set(asked.id, rounds);
    this.#arrange(rounds);
  }

  /** Stops probing the container. */
  drop(id: string): void {
    const rounds = this.#rounds.get(id);
    if (rounds === undefined) return;
    this.#rounds.delete(id);
    for (const kind of rounds.active.keys()) this.#end(rounds, kind);
    rounds.life.abort(new Error("the container is not asked any more"));
    rounds.life[Symbol.dispose]();
  }

  /** Resolves when no probe is in flight any more. */
  async close(): Promise<void> {
    for (const id of this.#rounds.keys()) this.drop(id);
    this.#due.close();
    await Promise.allSettled(this.#underWay);
  }

  /** Starts the probes that should run now and stops the others. */
  #arrange(rounds: Rounds): void {
    const { container, lifecycle } = rounds.asked;
    for (const spec of probesOf(container)) {
      const isWanted = isAsked(spec.kind, container, rounds.verdicts, lifecycle);
      const isActive = rounds.active.has(spec.kind);
      if (isWanted && !isActive) this.#start(rounds, spec);
      if (!isWanted && isActive) this.#end(rounds, spec.kind);
    }
  }

  #start(rounds: Rounds, spec: ProbeSpec): void {
    const { startedMs, isFound } = rounds.asked;
    const times = { startedMs, sinceMs: rounds.sinceMs, nowMs: this.#options.clock.monotonicMs() };
    // After a kubelet restart, spread the first probes over their period instead of running them at once.
    const isSpread = isFound && rounds.sinceMs === startedMs;
    const dueMs = isSpread ? spreadDueMs(spec, times, rounds.phase) : firstDueMs(spec, times);
    const firstMs = isSpread ? dueMs - spec.periodMs : dueMs;
    const probe: ActiveProbe = {
      of: rounds,
      spec,
      firstMs,
      dueMs,
      run: NO_RESULTS,
      own: linkSignals(rounds.life.signal),
    };
    rounds.active.set(spec.kind, probe);
    this.#due.set(probe, dueMs);
  }

  #end(rounds: Rounds, kind: ProbeKind): void {
    const probe = rounds.active.get(kind);
    if (probe === undefined) return;
    rounds.active.delete(kind);
    this.#due.cancel(probe);
    probe.own.abort(new Error("the probe is not put any more"));
    probe.own[Symbol.dispose]();
  }

  #begin(probe: ActiveProbe): void {
    const work = this.#put(probe).finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  async #put(probe: ActiveProbe): Promise<void> {
    const { clock, addressOf, log } = this.#options;
    const { spec, of, own } = probe;
    const begunMs = clock.monotonicMs();
    try {
      const ip = needsAddress(spec) ? await addressOf(of.asked.pod) : "";
      if (ip !== undefined) {
        const outcome = await ask(this.#questionOf(probe, ip), this.#parts, own.signal);
        if (own.signal.aborted) return;
        this.#heard(probe, outcome, (clock.monotonicMs() - begunMs) / 1000);
      }
    } catch (error) {
      if (own.signal.aborted) return;
      log.error("Unexpected error while running a probe", error, { container: of.asked.id, probe: spec.kind });
    }
    this.#setNext(probe);
  }

  #questionOf(probe: ActiveProbe, ip: string): Question {
    const { spec, of, made } = probe;
    const { asked } = of;
    if (made?.ip === ip && made.asked === asked) return made.question;
    const { id, pod, container } = asked;
    const question = questionOf({ spec, id, pod, container, ip, life: of.life.signal }, this.#parts);
    probe.made = { ip, asked, question };
    return question;
  }

  #setNext(probe: ActiveProbe): void {
    // The probe has been stopped.
    if (probe.own.signal.aborted) return;
    const { spec, firstMs, dueMs, run } = probe;
    const isWell = run.last === "success";
    probe.dueMs = nextDueMs(spec, { firstMs, dueMs, nowMs: this.#options.clock.monotonicMs(), isWell });
    this.#due.set(probe, probe.dueMs);
  }

  #heard(probe: ActiveProbe, outcome: ProbeOutcome, tookSeconds: number): void {
    const { spec, of } = probe;
    const result = resultOf(outcome);
    this.#tell(probe, outcome);
    if (result === undefined) return;
    this.#measure(probe, result, tookSeconds);
    const { run, verdicts } = countResult(spec, { run: probe.run, verdicts: of.verdicts }, result);
    probe.run = run;
    if (!sameVerdicts(verdicts, of.verdicts)) {
      if (spec.kind === "startup") of.sinceMs = this.#options.clock.monotonicMs();
      of.verdicts = verdicts;
      this.#arrange(of);
    }
    this.#options.onAnswer(of.asked.id);
  }

  #tell({ spec, firstMs, dueMs, of: { asked } }: ActiveProbe, outcome: ProbeOutcome): void {
    const reported = reportOf(spec.kind, outcome);
    if (reported === undefined || (outcome.kind === "failure" && isEarly(spec, firstMs, dueMs))) return;
    const subject = podSubject(asked.pod, asked.fieldPath);
    const { events } = this.#options;
    if (reported.reason === "ProbeWarning") events.emit(subject, "Warning", "ProbeWarning", reported.message);
    else events.emit(subject, "Warning", "Unhealthy", reported.message);
  }

  #measure({ spec, of: { asked } }: ActiveProbe, result: "success" | "failure", tookSeconds: number): void {
    const { total, duration } = this.#options.metrics;
    const { name, namespace, uid } = podNameOfObject(asked.pod);
    const [type, container] = [probeName(spec.kind), asked.container.name];
    total.increment(type, result === "success" ? "successful" : "failed", container, name, namespace, uid);
    if (result === "success") duration.observe(tookSeconds, type, container, name, namespace);
  }
}

/**
 * When each probe of each container is put, and what is made of its answers. All probes of the node share one timer. At most one question of a
 * probe is under way: one that is due meanwhile is left out.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { DueQueue } from "../../concurrency/due-queue.ts";
import { type LinkedSignal, linkSignals } from "../../concurrency/link-signals.ts";
import type { ProbeMetrics } from "../../domain/metrics/probe-metrics.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { countResult, NO_RESULTS, type ResultRun } from "../../domain/probes/count.ts";
import { type ProbeOutcome, probeName, resultOf, toldOf } from "../../domain/probes/outcome.ts";
import { needsAddress, type ProbeKind, type ProbeSpec, probesOf } from "../../domain/probes/probe-spec.ts";
import { firstDueMs, isEarly, nextDueMs, spreadDueMs } from "../../domain/probes/schedule.ts";
import { isAsked, type ProbeVerdicts, sameVerdicts } from "../../domain/probes/verdicts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { type AskParts, ask, type Question, questionOf } from "./ask.ts";

/** A running container, as it is asked. */
export interface AskedContainer {
  readonly id: string;
  readonly pod: Pod;
  readonly container: Container;
  readonly fieldPath: string;
  readonly lifecycle: PodLifecycle["kind"];
  /** When it started, on the monotonic clock. */
  readonly startedMs: number;
  /** It ran before this agent did. */
  readonly isFound: boolean;
}

export interface ProbeRoundsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventSink;
  readonly log: Log;
  readonly metrics: ProbeMetrics;
  /** Where a pod is reached; undefined: nobody knows yet, and nothing is asked. */
  readonly addressOf: (pod: Pod) => Promise<string | undefined>;
  /** Told after each answer that counts. */
  readonly onAnswer: (id: string) => void;
}

interface ActiveProbe {
  readonly of: Rounds;
  readonly spec: ProbeSpec;
  readonly firstMs: number;
  readonly own: LinkedSignal;
  dueMs: number;
  run: ResultRun;
  /** Its question, for as long as both are the same. */
  made?: { readonly ip: string; readonly asked: AskedContainer; readonly question: Question };
}

interface Rounds {
  asked: AskedContainer;
  verdicts: ProbeVerdicts;
  /** Since when its other probes could be put: its start, or the success of its startup probe. */
  sinceMs: number;
  /** The same for all its probes, so that those that ask the same ask together. */
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

  /** From now on, or as it is now. `verdicts`: what is known of one that was not asked before. */
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
    // Its age was measured once, when it was first heard of: a calendar that is set does not make it older.
    const { startedMs, isFound } = rounds.asked;
    rounds.asked = { ...asked, startedMs, isFound };
    this.#rounds.set(asked.id, rounds);
    this.#arrange(rounds);
  }

  /** It is not asked any more. */
  drop(id: string): void {
    const rounds = this.#rounds.get(id);
    if (rounds === undefined) return;
    this.#rounds.delete(id);
    for (const kind of rounds.active.keys()) this.#end(rounds, kind);
    rounds.life.abort(new Error("the container is not asked any more"));
    rounds.life[Symbol.dispose]();
  }

  /** Once nothing is under way any more. */
  async close(): Promise<void> {
    for (const id of this.#rounds.keys()) this.drop(id);
    this.#due.close();
    await Promise.allSettled(this.#underWay);
  }

  /** Begins what may be asked now, and ends what may not. */
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
    // One that was found running is not asked for its readiness more often than its period says.
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
      log.error("a probe failed in an unforeseen way", error, { container: of.asked.id, probe: spec.kind });
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
    // Its last word, or its end.
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
    const told = toldOf(spec.kind, outcome);
    if (told === undefined || (outcome.kind === "failure" && isEarly(spec, firstMs, dueMs))) return;
    const subject = { kind: "Pod", ...podNameOfObject(asked.pod), fieldPath: asked.fieldPath } as const;
    const { events } = this.#options;
    if (told.reason === "ProbeWarning") events.emit(subject, "Warning", "ProbeWarning", told.message);
    else events.emit(subject, "Warning", "Unhealthy", told.message);
  }

  #measure({ spec, of: { asked } }: ActiveProbe, result: "success" | "failure", tookSeconds: number): void {
    const { total, duration } = this.#options.metrics;
    const { name, namespace, uid } = podNameOfObject(asked.pod);
    const [type, container] = [probeName(spec.kind), asked.container.name];
    total.increment(type, result === "success" ? "successful" : "failed", container, name, namespace, uid);
    if (result === "success") duration.observe(tookSeconds, type, container, name, namespace);
  }
}

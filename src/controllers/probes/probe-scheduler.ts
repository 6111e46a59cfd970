/**
 * Schedules every probe of every container and processes the results. All probes of the node share one timer. At most
 * one run of a probe is in flight; runs that become due meanwhile are skipped.
 */

import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { type LinkedSignal, linkSignals } from "../../concurrency/abort.ts";
import { DueQueue } from "../../concurrency/due-queue.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { ProbeMetrics } from "../../domain/metrics/probe-metrics.ts";
import type { PodLifecycle } from "../../domain/pod/pod-lifecycle.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import { countResult, NO_RESULTS, type ResultRun } from "../../domain/probes/count.ts";
import { type ProbeOutcome, probeName, reportOf, resultOf } from "../../domain/probes/outcome.ts";
import { needsAddress, type ProbeKind, type ProbeSpec, probesOf } from "../../domain/probes/probe-spec.ts";
import { firstDueMs, isEarly, nextDueMs, spreadDueMs } from "../../domain/probes/schedule.ts";
import { type ProbeVerdicts, sameVerdicts, shouldProbe } from "../../domain/probes/verdicts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { type ProbeRequest, probeRequestOf, type RunProbeParts, runProbe } from "./run-probe.ts";

/** A running container to probe. */
export interface ProbedInstance {
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

export interface ProbeSchedulerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventSink;
  readonly log: Log;
  readonly metrics: ProbeMetrics;
  /** Returns the pod's address; undefined while it is unknown: then nothing is probed. */
  readonly addressOf: (pod: Pod) => Promise<string | undefined>;
  /** Called after each result that counts. */
  readonly onResult: (id: string) => void;
}

interface ActiveProbe {
  readonly of: ContainerProbes;
  readonly spec: ProbeSpec;
  readonly firstMs: number;
  readonly own: LinkedSignal;
  dueMs: number;
  run: ResultRun;
  /** The prepared probe, valid while address and container are unchanged. */
  made?: { readonly ip: string; readonly instance: ProbedInstance; readonly request: ProbeRequest };
}

interface ContainerProbes {
  instance: ProbedInstance;
  verdicts: ProbeVerdicts;
  /** The earliest time of liveness and readiness probes: the container's start, or the success of its startup probe. */
  sinceMs: number;
  /** Shared by all probes of a container, so that probes with the same command run together. */
  readonly phase: number;
  readonly life: LinkedSignal;
  readonly active: Map<ProbeKind, ActiveProbe>;
}

export class ProbeScheduler {
  readonly #options: ProbeSchedulerOptions;
  readonly #parts: RunProbeParts;
  readonly #shutdown: AbortSignal;
  readonly #due: DueQueue<ActiveProbe>;
  readonly #containers = new Map<string, ContainerProbes>();
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: ProbeSchedulerOptions, parts: RunProbeParts, shutdown: AbortSignal) {
    this.#options = options;
    this.#parts = parts;
    this.#shutdown = shutdown;
    this.#due = new DueQueue(options.clock, (probe) => this.#begin(probe));
  }

  probedInstance(id: string): ProbedInstance | undefined {
    return this.#containers.get(id)?.instance;
  }

  verdictsOf(id: string): ProbeVerdicts | undefined {
    return this.#containers.get(id)?.verdicts;
  }

  /** Adds or updates a container. `verdicts`: the known results of a container that was not probed before. */
  keep(instance: ProbedInstance, verdicts: ProbeVerdicts): void {
    const known = this.#containers.get(instance.id);
    const probes = known ?? {
      instance,
      verdicts,
      sinceMs: instance.startedMs,
      phase: this.#options.random.fraction(),
      life: linkSignals(this.#shutdown),
      active: new Map(),
    };
    // The start time is computed once, when the container is first observed: wall clock changes must not change its
    // age.
    const { startedMs, isFound } = probes.instance;
    probes.instance = { ...instance, startedMs, isFound };
    this.#containers.set(instance.id, probes);
    this.#arrange(probes);
  }

  /** Stops probing the container. */
  drop(id: string): void {
    const probes = this.#containers.get(id);
    if (probes === undefined) return;
    this.#containers.delete(id);
    for (const kind of probes.active.keys()) this.#end(probes, kind);
    probes.life.abort(new Error("the container is not probed any more"));
    probes.life[Symbol.dispose]();
  }

  /** Resolves when no probe is in flight any more. */
  async close(): Promise<void> {
    for (const id of this.#containers.keys()) this.drop(id);
    this.#due.close();
    await Promise.allSettled(this.#underWay);
  }

  /** Starts the probes that should run now and stops the others. */
  #arrange(probes: ContainerProbes): void {
    const { container, lifecycle } = probes.instance;
    for (const spec of probesOf(container)) {
      const isWanted = shouldProbe(spec.kind, container, probes.verdicts, lifecycle);
      const isActive = probes.active.has(spec.kind);
      if (isWanted && !isActive) this.#start(probes, spec);
      if (!isWanted && isActive) this.#end(probes, spec.kind);
    }
  }

  #start(probes: ContainerProbes, spec: ProbeSpec): void {
    const { startedMs, isFound } = probes.instance;
    const times = { startedMs, sinceMs: probes.sinceMs, nowMs: this.#options.clock.monotonicMs() };
    // After a kubelet restart, spread the first probes over their period instead of running them at once.
    const isSpread = isFound && probes.sinceMs === startedMs;
    const dueMs = isSpread ? spreadDueMs(spec, times, probes.phase) : firstDueMs(spec, times);
    const firstMs = isSpread ? dueMs - spec.periodMs : dueMs;
    const probe: ActiveProbe = {
      of: probes,
      spec,
      firstMs,
      dueMs,
      run: NO_RESULTS,
      own: linkSignals(probes.life.signal),
    };
    probes.active.set(spec.kind, probe);
    this.#due.set(probe, dueMs);
  }

  #end(probes: ContainerProbes, kind: ProbeKind): void {
    const probe = probes.active.get(kind);
    if (probe === undefined) return;
    probes.active.delete(kind);
    this.#due.cancel(probe);
    probe.own.abort(new Error("the probe was stopped"));
    probe.own[Symbol.dispose]();
  }

  #begin(probe: ActiveProbe): void {
    const work = this.#run(probe).finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  async #run(probe: ActiveProbe): Promise<void> {
    const { clock, addressOf, log } = this.#options;
    const { spec, of, own } = probe;
    const begunMs = clock.monotonicMs();
    try {
      const ip = needsAddress(spec) ? await addressOf(of.instance.pod) : "";
      if (ip !== undefined) {
        const outcome = await runProbe(this.#requestOf(probe, ip), this.#parts, own.signal);
        if (own.signal.aborted) return;
        this.#handleOutcome(probe, outcome, (clock.monotonicMs() - begunMs) / 1000);
      }
    } catch (error) {
      if (own.signal.aborted) return;
      log.error("Unexpected error while running a probe", error, { container: of.instance.id, probe: spec.kind });
    }
    this.#setNext(probe);
  }

  #requestOf(probe: ActiveProbe, ip: string): ProbeRequest {
    const { spec, of, made } = probe;
    const { instance } = of;
    if (made?.ip === ip && made.instance === instance) return made.request;
    const { id, pod, container } = instance;
    const request = probeRequestOf({ spec, id, pod, container, ip, life: of.life.signal }, this.#parts);
    probe.made = { ip, instance, request };
    return request;
  }

  #setNext(probe: ActiveProbe): void {
    // The probe has been stopped.
    if (probe.own.signal.aborted) return;
    const { spec, firstMs, dueMs, run } = probe;
    const isWell = run.last === "success";
    probe.dueMs = nextDueMs(spec, { firstMs, dueMs, nowMs: this.#options.clock.monotonicMs(), isWell });
    this.#due.set(probe, probe.dueMs);
  }

  #handleOutcome(probe: ActiveProbe, outcome: ProbeOutcome, tookSeconds: number): void {
    const { spec, of } = probe;
    const result = resultOf(outcome);
    this.#emitEvent(probe, outcome);
    if (result === undefined) return;
    this.#measure(probe, result, tookSeconds);
    const { run, verdicts } = countResult(spec, { run: probe.run, verdicts: of.verdicts }, result);
    probe.run = run;
    if (!sameVerdicts(verdicts, of.verdicts)) {
      if (spec.kind === "startup") of.sinceMs = this.#options.clock.monotonicMs();
      of.verdicts = verdicts;
      this.#arrange(of);
    }
    this.#options.onResult(of.instance.id);
  }

  #emitEvent({ spec, firstMs, dueMs, of: { instance } }: ActiveProbe, outcome: ProbeOutcome): void {
    const reported = reportOf(spec.kind, outcome);
    if (reported === undefined || (outcome.kind === "failure" && isEarly(spec, firstMs, dueMs))) return;
    const subject = podSubject(instance.pod, instance.fieldPath);
    const { events } = this.#options;
    if (reported.reason === "ProbeWarning") events.emit(subject, "Warning", "ProbeWarning", reported.message);
    else events.emit(subject, "Warning", "Unhealthy", reported.message);
  }

  #measure({ spec, of: { instance } }: ActiveProbe, result: "success" | "failure", tookSeconds: number): void {
    const { total, duration } = this.#options.metrics;
    const { name, namespace, uid } = podNameOfObject(instance.pod);
    const [type, container] = [probeName(spec.kind), instance.container.name];
    total.increment(type, result === "success" ? "successful" : "failed", container, name, namespace, uid);
    if (result === "success") duration.observe(tookSeconds, type, container, name, namespace);
  }
}

/**
 * Selects the containers to probe and publishes the results. A changed result is journaled before it is published, so
 * that the next kubelet process neither revokes nor grants readiness. If the journal write fails, the result is
 * published anyway, because the probe can be repeated, and the write is retried with the next result.
 */

import type { Node, Pod } from "../../api/gen/core-v1.ts";
import { KeyedLoop } from "../../concurrency/keyed-loop.ts";
import { KeyedWorker } from "../../concurrency/keyed-worker.ts";
import { LagMeter } from "../../concurrency/lag-meter.ts";
import type { Latest } from "../../concurrency/latest-cell.ts";
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import { onChange } from "../../concurrency/on-change.ts";
import type { JournaledPod } from "../../domain/journal/journaled-pod.ts";
import type { ProbeMetrics } from "../../domain/metrics/probe-metrics.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import { type DesiredPods, mirrorOf } from "../../domain/pod/desired-pod.ts";
import { hasEnded } from "../../domain/pod/pod-lifecycle.ts";
import { podNameOfObject } from "../../domain/pod/pod-names.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { publishedStatusOf } from "../../domain/pod/published-status.ts";
import { newestOf, type PodContainer } from "../../domain/pod/runtime-view.ts";
import { hostAddresses, podAddresses } from "../../domain/pod-status/addresses.ts";
import { probeName } from "../../domain/probes/outcome.ts";
import { PROBE_KINDS, probedContainers } from "../../domain/probes/probe-spec.ts";
import {
  FIRST_VERDICTS,
  type ProbeResult,
  type ProbeVerdicts,
  publishedVerdicts,
  sameVerdicts,
} from "../../domain/probes/verdicts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import type { Prober } from "../../ports/prober.ts";
import type { Random } from "../../ports/random.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { ExecLimiter } from "./exec-limiter.ts";
import { ProbeScheduler } from "./probe-scheduler.ts";

export interface ProbeLoopOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly prober: Prober;
  readonly runtime: Pick<Runtime, "execSync">;
  readonly journal: Pick<Journal, "append">;
  readonly events: EventSink;
  readonly log: Log;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly desiredPods: Latest<DesiredPods>;
  readonly sourcesReady: Latest<boolean>;
  readonly probeResults: LatestTable<string, ProbeResult>;
  readonly journaledPods: ReadonlyMap<string, JournaledPod>;
  readonly cpus: () => Promise<number>;
  /** This node's Node, even if the API server does not have it. */
  readonly localNode: (signal: AbortSignal) => Promise<Node>;
  readonly userAgent: string;
  readonly metrics: ProbeMetrics;
}

export class ProbeLoop {
  readonly #options: ProbeLoopOptions;
  /** IDs of the containers in `probeResults`, by pod. */
  readonly #reported = new Map<string, Set<string>>();
  /** IDs of the probed containers, by pod. */
  readonly #probed = new Map<string, ReadonlySet<string>>();
  /** Pods that have probe metrics. */
  readonly #measured = new Map<string, Pod>();
  /** The journaled results by container ID. Undefined: unknown, because the last write failed. */
  readonly #written = new Map<string, ProbeVerdicts | undefined>();
  readonly #startedMs: number;

  /** Publishes journaled results at once, because the first plan of a pod uses them. */
  constructor(options: ProbeLoopOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
    for (const { uid, probed, finishedWallMs } of options.journaledPods.values()) {
      if (finishedWallMs !== undefined) continue;
      for (const { containerId, ...verdicts } of probed.values()) {
        this.#written.set(containerId, verdicts);
        this.#publish(uid, containerId, verdicts);
      }
    }
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { clock, podOutcomes, admittedPods, sourcesReady, prober, userAgent, log } = this.#options;
    const execs = new ExecLimiter(this.#options);
    const onBug = (id: string, error: unknown) => log.error("Unexpected error while scheduling probes", error, { id });
    const writer = new KeyedWorker<string>({ turn: (id) => this.#write(id, scheduler), onBug, shutdown });
    const scheduler: ProbeScheduler = new ProbeScheduler(
      {
        ...this.#options,
        addressOf: async (pod) => {
          const outcome = podOutcomes.get(podNameOfObject(pod).uid);
          return outcome === undefined ? undefined : await this.#addressOf(pod, outcome, shutdown);
        },
        onResult: (id) => (this.#isWritten(id, scheduler) ? undefined : writer.wake(id)),
      },
      { clock, prober, execs, lag: new LagMeter(clock), userAgent },
      shutdown,
    );
    const pods = new KeyedLoop<string>({
      clock,
      turn: async (uid) => this.#reconcile(uid, scheduler, (id) => writer.wake(id)),
      onBug,
      shutdown,
    });
    pods.watch(podOutcomes, (uid) => pods.wake(uid));
    pods.watch(admittedPods, (uid) => pods.wake(uid));
    await pods.run(async () => {
      try {
        for (const uid of podOutcomes.keys()) pods.wake(uid);
        this.#forgetUnwanted();
        await onChange(sourcesReady, () => this.#forgetUnwanted(), shutdown);
      } finally {
        await Promise.all([scheduler.close(), writer.drained()]);
      }
    });
  }

  /**
   * The address that the probes of a pod connect to; undefined while it is unknown. A hostNetwork pod has the node's
   * address, even if no Node is registered.
   */
  async #addressOf(pod: Pod, { view }: PodOutcome, shutdown: AbortSignal): Promise<string | undefined> {
    const { status } = await this.#options.localNode(shutdown);
    const published = (pod.status?.podIPs ?? []).map(({ ip }) => ip);
    return podAddresses(pod, published, hostAddresses(status?.addresses ?? []), view.sandboxes[0]?.ips ?? [])[0];
  }

  /** Drops recalled results of pods that disappeared while no kubelet ran. */
  #forgetUnwanted(): void {
    const { sourcesReady, admittedPods, podOutcomes } = this.#options;
    if (!sourcesReady.value) return;
    for (const uid of this.#reported.keys()) {
      if (admittedPods.get(uid) === undefined && podOutcomes.get(uid) === undefined) this.#forget(uid, () => false);
    }
  }

  #reconcile(uid: string, scheduler: ProbeScheduler, write: (id: string) => void): void {
    const { podOutcomes, admittedPods } = this.#options;
    const [outcome, admitted] = [podOutcomes.get(uid), admittedPods.get(uid)];
    const probed = new Set<string>();
    if (outcome !== undefined && admitted?.verdict.kind === "admitted") {
      for (const { container, fieldPath } of probedContainers(admitted.pod.spec)) {
        const instance = newestOf(outcome.view, container.name);
        if (instance?.state !== "running") continue;
        const { pod } = admitted;
        probed.add(instance.id);
        const { lifecycle } = outcome;
        const details = { container, fieldPath, lifecycle: lifecycle.kind, ...this.#begin(instance) };
        scheduler.keep({ id: instance.id, pod, ...details }, this.#recalled(uid, instance, admitted, write));
      }
    }
    for (const id of this.#probed.get(uid) ?? []) if (!probed.has(id)) scheduler.drop(id);
    if (probed.size > 0) this.#probed.set(uid, probed);
    else this.#probed.delete(uid);
    if (probed.size > 0 && admitted !== undefined) this.#measured.set(uid, admitted.pod);
    if (podHasEnded(outcome)) this.#forgetMetrics(uid);
    // Before the first inspection of the runtime no container counts as removed.
    if (outcome !== undefined) this.#forget(uid, (id) => outcome.view.containers.some((each) => each.id === id));
    else if (admitted === undefined) this.#forget(uid, () => false);
  }

  /**
   * The container's age comes from the wall clock, which may have been set back: the start never lies in the future.
   */
  #begin({ startedWallNs, createdWallNs }: PodContainer): { readonly startedMs: number; readonly isFound: boolean } {
    const { clock } = this.#options;
    const ageMs = Math.max(0, clock.wallMs() - Number((startedWallNs ?? createdWallNs) / 1_000_000n));
    const startedMs = clock.monotonicMs() - ageMs;
    return { startedMs, isFound: startedMs < this.#startedMs };
  }

  /** The published or journaled results, else those in the pod's status, else the initial ones. */
  #recalled(
    uid: string,
    { id }: PodContainer,
    { pod, isStatic }: AdmittedPod,
    write: (id: string) => void,
  ): ProbeVerdicts {
    const { probeResults, desiredPods } = this.#options;
    const known = probeResults.get(id);
    if (known !== undefined) return known;
    const { status } = (isStatic ? mirrorOf(pod, desiredPods.value) : pod) ?? {};
    const published = publishedVerdicts(id, publishedStatusOf(status, id));
    if (published === undefined || sameVerdicts(published, FIRST_VERDICTS)) return FIRST_VERDICTS;
    this.#publish(uid, id, published);
    write(id);
    return published;
  }

  async #write(id: string, scheduler: ProbeScheduler): Promise<void> {
    const { clock, journal, log } = this.#options;
    const [verdicts, instance] = [scheduler.verdictsOf(id), scheduler.probedInstance(id)];
    if (verdicts === undefined || instance === undefined) return;
    const { uid, namespace, name } = podNameOfObject(instance.pod);
    if (!this.#isWritten(id, scheduler)) {
      const { startup, liveness, readiness } = verdicts;
      const container = instance.container.name;
      const fields = { container, containerId: id, startup, liveness, readiness };
      try {
        await journal.append({ kind: "probed", uid, pod: `${namespace}/${name}`, wallMs: clock.wallMs(), ...fields });
        this.#written.set(id, verdicts);
      } catch (error) {
        this.#written.set(id, undefined);
        log.error("Failed to write the journal", error, { uid });
      }
    }
    // The container may have been dropped meanwhile.
    if (scheduler.verdictsOf(id) !== undefined) this.#publish(uid, id, verdicts);
  }

  #isWritten(id: string, scheduler: ProbeScheduler): boolean {
    const written = this.#written.has(id) ? this.#written.get(id) : FIRST_VERDICTS;
    return written !== undefined && sameVerdicts(written, scheduler.verdictsOf(id) ?? FIRST_VERDICTS);
  }

  #publish(uid: string, id: string, { startup, liveness, readiness }: ProbeVerdicts): void {
    const { probeResults } = this.#options;
    const known = probeResults.get(id);
    if (known !== undefined && sameVerdicts(known, { startup, liveness, readiness })) return;
    this.#reported.set(uid, (this.#reported.get(uid) ?? new Set()).add(id));
    probeResults.set(id, { uid, startup, liveness, readiness });
  }

  #forget(uid: string, isThere: (id: string) => boolean): void {
    const ids = this.#reported.get(uid);
    for (const id of ids ?? []) {
      if (isThere(id)) continue;
      ids?.delete(id);
      this.#written.delete(id);
      this.#options.probeResults.delete(id);
    }
    if (ids?.size === 0) this.#reported.delete(uid);
  }

  /** Metrics contain only pods that exist and have not terminated. */
  #forgetMetrics(uid: string): void {
    const pod = this.#measured.get(uid);
    if (pod === undefined) return;
    this.#measured.delete(uid);
    const { total, duration } = this.#options.metrics;
    const { name, namespace } = podNameOfObject(pod);
    for (const { container } of probedContainers(pod.spec)) {
      for (const type of PROBE_KINDS.map(probeName)) {
        for (const result of ["successful", "failed"]) total.forget(type, result, container.name, name, namespace, uid);
        duration.forget(type, container.name, name, namespace);
      }
    }
  }
}

const podHasEnded = (outcome: PodOutcome | undefined): boolean => outcome === undefined || hasEnded(outcome.lifecycle);

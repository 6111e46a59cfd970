/**
 * Measures pod start latencies and counts container exits from the cells. Nothing from a previous kubelet process is
 * measured: a start whose beginning was not observed has no duration, and that process already counted earlier exits.
 */
import type { LatestTable, ReadonlyTable } from "../../concurrency/latest-table.ts";
import type { PullProgress } from "../../domain/images/pull-progress.ts";
import { podOfPull } from "../../domain/images/pull-progress.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import { isSeenStarted, isStartAwaited, podStartTimes, SharedTime } from "../../domain/metrics/pod-start.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { anyMayRun, newestOf, type PodContainer } from "../../domain/pod/runtime-view.ts";
import type { Clock } from "../../ports/clock.ts";

export interface PodLatenciesParts {
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs">;
  readonly metrics: PodMetrics;
  readonly admittedPods: ReadonlyTable<string, AdmittedPod>;
  readonly podOutcomes: ReadonlyTable<string, PodOutcome>;
  readonly pullsUnderWay: Pick<LatestTable<string, PullProgress>, "get" | "watch">;
}

interface MeasuredPod {
  /** Undefined once measured, or if there is nothing to measure. */
  start: { readonly pulls: SharedTime; readonly pulling: Set<string> } | undefined;
  hasRun: boolean;
  isOrphan: boolean;
  readonly ended: Set<string>;
}

/** Observes every change until the signal aborts. The tables already hold the new values when a change is reported. */
export function watchPodLatencies(parts: PodLatenciesParts, shutdown: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const latencies = new PodLatencies(parts);
  const unwatch = [
    parts.admittedPods.watch((uid) => latencies.noteObject(uid)),
    parts.podOutcomes.watch((uid) => latencies.noteOutcome(uid)),
    parts.pullsUnderWay.watch((key) => latencies.notePull(key)),
  ];
  const end = () => {
    for (const each of unwatch) each();
    resolve();
  };
  shutdown.addEventListener("abort", end, { once: true });
  if (shutdown.aborted) end();
  return promise;
}

class PodLatencies {
  readonly #parts: PodLatenciesParts;
  readonly #sinceWallNs: bigint;
  readonly #pods = new Map<string, MeasuredPod>();
  #hasNetworkStart = false;

  constructor(parts: PodLatenciesParts) {
    this.#parts = parts;
    this.#sinceWallNs = BigInt(Math.floor(parts.clock.wallMs())) * 1_000_000n;
  }

  noteObject(uid: string): void {
    const { admittedPods, podOutcomes, clock, metrics } = this.#parts;
    const admitted = admittedPods.get(uid);
    if (admitted === undefined) {
      if (podOutcomes.get(uid) === undefined) this.#pods.delete(uid);
      return;
    }
    const { pod, isStatic, verdict } = admitted;
    const known = this.#pods.get(uid);
    if (known === undefined) {
      const isMeasured = verdict.kind === "admitted" && isStartAwaited(pod);
      if (isMeasured) metrics.containersPerPod.observe(pod.spec?.containers.length ?? 0);
      const start = isMeasured && !isStatic ? { pulls: new SharedTime(), pulling: new Set<string>() } : undefined;
      this.#pods.set(uid, { start, hasRun: !isMeasured, isOrphan: false, ended: new Set() });
    } else if (known.start !== undefined && isSeenStarted(pod)) {
      const { totalMs, sliMs } = podStartTimes(pod, clock.wallMs(), known.start.pulls.totalMs);
      known.start = undefined;
      metrics.startTotal.observe(totalMs / 1000);
      if (sliMs !== undefined) this.#noteSli(sliMs / 1000, pod.spec?.hostNetwork !== true);
    }
  }

  #noteSli(seconds: number, hasNetwork: boolean): void {
    const { metrics } = this.#parts;
    metrics.startSli.observe(seconds);
    if (!hasNetwork || this.#hasNetworkStart) return;
    this.#hasNetworkStart = true;
    metrics.firstNetworkStart.set(seconds);
  }

  noteOutcome(uid: string): void {
    const { admittedPods, podOutcomes, clock, metrics } = this.#parts;
    const [outcome, admitted] = [podOutcomes.get(uid), admittedPods.get(uid)];
    if (outcome === undefined) {
      if (admitted === undefined) this.#pods.delete(uid);
      return;
    }
    const measured = this.#pods.get(uid) ?? {
      start: undefined,
      hasRun: true,
      isOrphan: false,
      ended: new Set<string>(),
    };
    this.#pods.set(uid, measured);
    if (!measured.hasRun && admitted !== undefined && isRunning(admitted, outcome)) {
      measured.hasRun = true;
      metrics.start.observe(Math.max(0, clock.wallMs() - admitted.firstSeenWallMs) / 1000);
    }
    if (!measured.isOrphan && isLivingOrphan(outcome)) {
      measured.isOrphan = true;
      metrics.orphanedInRuntime.increment();
    }
    this.#noteEnds(measured, outcome.view.containers);
  }

  #noteEnds({ ended }: MeasuredPod, containers: readonly PodContainer[]): void {
    const present = new Set(containers.map(({ id }) => id));
    for (const id of ended) if (!present.has(id)) ended.delete(id);
    for (const { id, state, exitCode, reason, finishedWallNs = 0n } of containers) {
      if (state !== "exited" || ended.has(id)) continue;
      ended.add(id);
      if (finishedWallNs < this.#sinceWallNs) continue;
      this.#parts.metrics.terminatedContainers.increment("container", String(exitCode), reason);
    }
  }

  notePull(key: string): void {
    const { pullsUnderWay, clock } = this.#parts;
    const start = this.#pods.get(podOfPull(key))?.start;
    if (start === undefined) return;
    const isUnderWay = pullsUnderWay.get(key)?.kind === "pulling";
    if (isUnderWay === start.pulling.has(key)) return;
    if (isUnderWay) {
      start.pulling.add(key);
      start.pulls.begin(clock.monotonicMs());
    } else {
      start.pulling.delete(key);
      start.pulls.end(clock.monotonicMs());
    }
  }
}

/** Matches the pod phase Running: every container has started and at least one is still running. */
function isRunning({ pod }: AdmittedPod, { view }: PodOutcome): boolean {
  const states = (pod.spec?.containers ?? []).map(({ name }) => newestOf(view, name)?.state);
  return states.includes("running") && states.every((state) => state === "running" || state === "exited");
}

const isLivingOrphan = ({ lifecycle, view }: PodOutcome): boolean =>
  lifecycle.kind === "terminating" && lifecycle.why.kind === "orphaned" && anyMayRun(view);

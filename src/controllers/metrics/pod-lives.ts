/**
 * Measures pod start latencies and counts container exits from the cells. Nothing from a previous kubelet process is
 * measured: a start whose beginning was not observed has no duration, and that process already counted earlier exits.
 */
import type { LatestTable, ReadTable } from "../../concurrency/latest-table.ts";
import type { PullProgress } from "../../domain/images/pull-progress.ts";
import { podOfPull } from "../../domain/images/pull-progress.ts";
import type { PodMetrics } from "../../domain/metrics/pod-metrics.ts";
import { isSeenStarted, isStartAwaited, podStartTimes, SharedTime } from "../../domain/metrics/pod-start.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { anyMayRun, newestOf, type PodContainer } from "../../domain/pod/runtime-view.ts";
import type { Clock } from "../../ports/clock.ts";

export interface PodLivesParts {
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs">;
  readonly metrics: PodMetrics;
  readonly admittedPods: ReadTable<string, AdmittedPod>;
  readonly podOutcomes: ReadTable<string, PodOutcome>;
  readonly pullsUnderWay: Pick<LatestTable<string, PullProgress>, "get" | "watch">;
}

interface Life {
  /** Undefined once measured, or if there is nothing to measure. */
  start: { readonly pulls: SharedTime; readonly pulling: Set<string> } | undefined;
  hasRun: boolean;
  isOrphan: boolean;
  readonly ended: Set<string>;
}

/** Observes every change until the signal aborts. The tables already hold the new values when a change is reported. */
export function watchPodLives(parts: PodLivesParts, shutdown: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const lives = new PodLives(parts);
  const unwatch = [
    parts.admittedPods.watch((uid) => lives.noteObject(uid)),
    parts.podOutcomes.watch((uid) => lives.noteOutcome(uid)),
    parts.pullsUnderWay.watch((key) => lives.notePull(key)),
  ];
  const end = () => {
    for (const each of unwatch) each();
    resolve();
  };
  shutdown.addEventListener("abort", end, { once: true });
  if (shutdown.aborted) end();
  return promise;
}

class PodLives {
  readonly #parts: PodLivesParts;
  readonly #sinceWallNs: bigint;
  readonly #lives = new Map<string, Life>();
  #hasNetworkStart = false;

  constructor(parts: PodLivesParts) {
    this.#parts = parts;
    this.#sinceWallNs = BigInt(Math.floor(parts.clock.wallMs())) * 1_000_000n;
  }

  noteObject(uid: string): void {
    const { admittedPods, podOutcomes, clock, metrics } = this.#parts;
    const admitted = admittedPods.get(uid);
    if (admitted === undefined) {
      if (podOutcomes.get(uid) === undefined) this.#lives.delete(uid);
      return;
    }
    const { pod, isStatic, verdict } = admitted;
    const known = this.#lives.get(uid);
    if (known === undefined) {
      const isMeasured = verdict.kind === "admitted" && isStartAwaited(pod);
      if (isMeasured) metrics.containersPerPod.observe(pod.spec?.containers.length ?? 0);
      const start = isMeasured && !isStatic ? { pulls: new SharedTime(), pulling: new Set<string>() } : undefined;
      this.#lives.set(uid, { start, hasRun: !isMeasured, isOrphan: false, ended: new Set() });
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
      if (admitted === undefined) this.#lives.delete(uid);
      return;
    }
    const life = this.#lives.get(uid) ?? { start: undefined, hasRun: true, isOrphan: false, ended: new Set<string>() };
    this.#lives.set(uid, life);
    if (!life.hasRun && admitted !== undefined && isRunning(admitted, outcome)) {
      life.hasRun = true;
      metrics.start.observe(Math.max(0, clock.wallMs() - admitted.firstSeenWallMs) / 1000);
    }
    if (!life.isOrphan && isLivingOrphan(outcome)) {
      life.isOrphan = true;
      metrics.orphanedInRuntime.increment();
    }
    this.#noteEnds(life, outcome.view.containers);
  }

  #noteEnds({ ended }: Life, containers: readonly PodContainer[]): void {
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
    const start = this.#lives.get(podOfPull(key))?.start;
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

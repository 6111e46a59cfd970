/**
 * Keeps the node from running out of memory, disk space, inodes and process ids. It compares every measurement with the
 * thresholds and publishes the pressure on the node in the cell `pressure`. While a threshold is met it first requests
 * what no pod needs to be removed, and then evicts one pod at a time. Pods that exceed their own limits of local storage
 * are evicted together, before that.
 *
 * Nothing here waits for a removal or for the end of a pod: each measurement and each answer starts another round, so
 * that a slow removal of images delays no eviction for memory.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { nodeSubject, podSubject } from "../../domain/events/recorded-event.ts";
import {
  chooseVictims,
  type RankedPod,
  reclaimSteps,
  type Victim,
  type VictimChoice,
} from "../../domain/eviction/choose-victims.ts";
import { hasStorageLimit, type StorageLimit, storageViolators } from "../../domain/eviction/local-storage.ts";
import { type Measurement, measurementOf } from "../../domain/eviction/measurement.ts";
import type { MemorySignal } from "../../domain/eviction/memory-signal.ts";
import { thresholdMetMessage } from "../../domain/eviction/message.ts";
import type { StatsOf } from "../../domain/eviction/ranking.ts";
import {
  type Evaluation,
  type EvictionThreshold,
  evaluate,
  evictionThresholds,
  isHard,
  isResolved,
  NO_EVICTION_STATE,
  resourceOf,
  type ThresholdSettings,
  withContainerFs,
} from "../../domain/eviction/thresholds.ts";
import { decisionRecord } from "../../domain/journal/records.ts";
import type { EvictionMetrics } from "../../domain/metrics/eviction-metrics.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import type { FilesystemLayout, NodeUsage, Observations, Signal } from "../../domain/node/pressure.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import { isCriticalPod, keyOf } from "../../domain/pod/pod-identity.ts";
import type { Summary } from "../../domain/stats/summary-shape.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import { awaitsPods } from "./active-pods.ts";
import { EvictedPods, type EvictedPodsParts, type EvictionCause } from "./evicted-pods.ts";
import { NodeReclaim, type NodeReclaimParts } from "./node-reclaim.ts";

export interface EvictionParts extends EvictedPodsParts, NodeReclaimParts {
  readonly nodeUsage: Latest<NodeUsage>;
  readonly pressure: LatestCell<Pressure>;
  readonly sourcesReady: Latest<boolean>;
  readonly journal: Pick<Journal, "note">;
  readonly log: Log;
  readonly metrics: EvictionMetrics;
  /** The usage of pods: of memory alone, or of everything. */
  readonly usage: {
    usageSummary(signal: AbortSignal): Promise<Summary>;
    summary(signal: AbortSignal): Promise<Summary>;
  };
  readonly settings: EvictionLoopSettings;
}

export interface EvictionLoopSettings extends ThresholdSettings {
  readonly nodeName: string;
  readonly enforcesPods: boolean;
  /** How long a pressure condition stays true after it was last observed. */
  readonly conditionHoldMs: number;
  readonly maxPodGraceSeconds: number;
  /** Limits of local storage are enforced. */
  readonly localStorage: boolean;
  readonly memorySignal: MemorySignal;
}

const CHECK_EVERY_MS = 10_000;
const STATS_LIMIT_MS = 5000;
/** The interval at which the Go kubelet compares its thresholds. */
const FIRST_SIGHT_MS = 10_000;
/** Nobody reads the ranks of 500 pods, and one record must not displace others. */
const JOURNALED_CANDIDATES_MAX = 20;

/** Why a pod is evicted, for its event, the journal and the metric. */
interface EvictionDetails {
  readonly signal: Signal | StorageLimit;
  readonly cause: EvictionCause;
  readonly measured?: Measurement | undefined;
  readonly candidates: readonly RankedPod[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What one round works on. */
interface Round {
  readonly observations: Observations;
  readonly layout: FilesystemLayout;
  readonly thresholds: readonly EvictionThreshold[];
}

export class EvictionLoop {
  readonly #parts: EvictionParts;
  readonly #evicted: EvictedPods;
  readonly #reclaim: NodeReclaim;
  #state = NO_EVICTION_STATE;
  #storageDueMs = 0;
  /** Since when the pods of every source have been known. */
  #knownMonotonicMs: number | undefined;
  #thresholds: { readonly layout: FilesystemLayout; readonly all: readonly EvictionThreshold[] } | undefined;
  /** The last event about a shortage. */
  #attempt: { readonly signal: Signal; readonly monotonicMs: number } | undefined;

  constructor(parts: EvictionParts) {
    this.#parts = parts;
    this.#evicted = new EvictedPods(parts);
    this.#reclaim = new NodeReclaim(parts);
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { clock, log, nodeUsage, imagesReclaimed, containersReclaimed } = this.#parts;
    while (!shutdown.aborted) {
      const seen = [nodeUsage, imagesReclaimed, containersReclaimed].map((cell) => ({ cell, seen: cell.version }));
      try {
        await this.#round(shutdown);
      } catch (error) {
        if (shutdown.aborted) return;
        log.error("Failed to check whether pods must be evicted", error);
      }
      const waitMs = Math.min(CHECK_EVERY_MS, this.#evicted.untilNextLateMs());
      await waitForChange(clock, seen, waitMs, shutdown).catch((error: unknown) => {
        if (!shutdown.aborted) throw error;
      });
    }
  }

  async #round(shutdown: AbortSignal): Promise<void> {
    const { nodeUsage, clock, settings, sourcesReady } = this.#parts;
    const { observations: measured, layout } = nodeUsage.value;
    const known = layout ?? "shared";
    const observations = withContainerFs(measured, known);
    const thresholds = this.#thresholdsOf(known);
    const evaluation = evaluate(this.#state, observations, {
      thresholds,
      nowMs: clock.monotonicMs(),
      holdMs: settings.conditionHoldMs,
    });
    this.#state = evaluation.state;
    this.#publish(evaluation);
    this.#reclaim.advance();
    // Until the file systems are known, it is not known which pods use the one that is short.
    const met = evaluation.met.filter(({ signal }) => layout !== undefined || !isOfDisk(signal));
    const isWaiting = this.#evicted.checkProgress(met.some(isHard));
    // Until every source was read, the pods are not known.
    if (!sourcesReady.value) return;
    this.#knownMonotonicMs ??= clock.monotonicMs();
    if (isWaiting) return;
    const [first] = met;
    const isMemory = first !== undefined && resourceOf(first.signal) === "memory";
    // Memory waits for nothing.
    if (!isMemory && layout !== undefined && (await this.#evictForStorage(layout, shutdown))) return;
    if (!evaluation.state.past.some(({ signal }) => isOfDisk(signal))) this.#reclaim.reset();
    const round: Round = { observations, layout: known, thresholds };
    if (first !== undefined && !this.#isFirstSight()) await this.#evictForThreshold(first, met, round, shutdown);
  }

  /**
   * After a start, the pod that uses most may be one that its worker has not handled yet, and another would be evicted
   * for it. A runtime that does not answer for one pod delays eviction no longer than this.
   */
  #isFirstSight(): boolean {
    const { clock } = this.#parts;
    const sinceMs = this.#knownMonotonicMs ?? clock.monotonicMs();
    return clock.monotonicMs() - sinceMs < FIRST_SIGHT_MS && awaitsPods(this.#parts);
  }

  /** Only the layout changes them. */
  #thresholdsOf(layout: FilesystemLayout): readonly EvictionThreshold[] {
    const { settings } = this.#parts;
    if (this.#thresholds?.layout !== layout)
      this.#thresholds = { layout, all: evictionThresholds(settings, { enforcesPods: settings.enforcesPods, layout }) };
    return this.#thresholds.all;
  }

  #publish({ pressure: now, observed }: Evaluation): void {
    const { pressure, log } = this.#parts;
    if (samePressure(now, pressure.value)) return;
    log.info(0, "The pressure on the node changed", { pressure: now, met: observed.map(({ signal }) => signal) });
    pressure.set(now);
  }

  /** Every pod that exceeds a limit of its own. Returns whether there was one. */
  async #evictForStorage(layout: FilesystemLayout, shutdown: AbortSignal): Promise<boolean> {
    const { clock, settings, usage, log } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (!settings.localStorage || nowMs < this.#storageDueMs) return false;
    this.#storageDueMs = nowMs + CHECK_EVERY_MS;
    const pods = this.#evicted.candidates().filter(hasStorageLimit);
    if (pods.length === 0) return false;
    try {
      const statsOf = await this.#statsFrom((signal) => usage.summary(signal), shutdown);
      const violators = storageViolators(pods, statsOf, layout);
      for (const { pod, limit, ...request } of violators)
        this.#evict(pod, request, { signal: limit, cause: "ownLimit", candidates: [] });
      return violators.length > 0;
    } catch (error) {
      if (!shutdown.aborted) log.error("Failed to check the limits of local storage", error);
      return false;
    }
  }

  async #evictForThreshold(
    first: EvictionThreshold,
    met: readonly EvictionThreshold[],
    { observations, layout, thresholds }: Round,
    shutdown: AbortSignal,
  ): Promise<void> {
    const { usage, settings, log } = this.#parts;
    const isNew = this.#announce(first);
    const targets = reclaimSteps(first.signal, layout);
    if (!this.#reclaim.isComplete(targets, observations.get(first.signal)?.atMonotonicMs ?? 0)) return;
    if (targets.length > 0 && thresholds.every((threshold) => isResolved(threshold, observations))) {
      this.#reclaim.reset();
      return;
    }
    const pods = this.#evicted.candidates();
    const isMemory = resourceOf(first.signal) === "memory";
    const read = (signal: AbortSignal) => (isMemory ? usage.usageSummary(signal) : usage.summary(signal));
    const statsOf = pods.every(isCriticalPod) ? () => undefined : await this.#statsFrom(read, shutdown);
    const { maxPodGraceSeconds } = settings;
    const choice = chooseVictims({ met, observations, layout, pods, statsOf, maxPodGraceSeconds });
    if (targets.length > 0) this.#reclaim.reset();
    const victim = choice?.victims[0];
    if (choice !== undefined && victim !== undefined) this.#evictVictim(choice, victim, met, observations);
    else if (isNew) log.info(0, "Unable to evict any pods from the node", { signal: first.signal });
  }

  /** Emits the event on the Node, once per shortage and again while it lasts. Returns whether it was emitted. */
  #announce({ signal }: EvictionThreshold): boolean {
    const { clock, events, settings } = this.#parts;
    const nowMs = clock.monotonicMs();
    const last = this.#attempt;
    if (last?.signal === signal && nowMs - last.monotonicMs < CHECK_EVERY_MS) return false;
    this.#attempt = { signal, monotonicMs: nowMs };
    const message = thresholdMetMessage(resourceOf(signal));
    events.emit(nodeSubject(settings.nodeName), "Warning", "EvictionThresholdMet", message);
    return true;
  }

  #evictVictim(
    { threshold, ranking }: VictimChoice,
    { pod, annotations, ...request }: Victim,
    met: readonly EvictionThreshold[],
    observations: Observations,
  ): void {
    const { clock, metrics, settings } = this.#parts;
    this.#evict(pod, request, {
      signal: threshold.signal,
      cause: isHard(threshold) ? "hardThreshold" : "softThreshold",
      measured: measurementOf(threshold, observations, settings.memorySignal),
      candidates: ranking.slice(0, JOURNALED_CANDIDATES_MAX),
      annotations,
    });
    for (const each of met) {
      const atMs = observations.get(each.signal)?.atMonotonicMs;
      if (atMs !== undefined) metrics.statsAge.observe((clock.monotonicMs() - atMs) / 1000, each.signal);
    }
  }

  #evict(pod: Pod, request: Required<EndRequest>, { cause, annotations, ...shown }: EvictionDetails): void {
    const { journal, clock, events, metrics } = this.#parts;
    const subject = { uid: pod.metadata?.uid ?? "", pod: keyOf(pod), wallMs: clock.wallMs() };
    const { reason, message } = request;
    journal.note(decisionRecord(subject, { kind: "evict", why: message, ...shown }));
    events.emit(podSubject(pod), "Warning", reason, message, annotations);
    this.#evicted.evict(pod, request, cause);
    metrics.evictions.increment(shown.signal);
  }

  async #statsFrom(read: (signal: AbortSignal) => Promise<Summary>, shutdown: AbortSignal): Promise<StatsOf> {
    const { pods } = await withDeadline(this.#parts.clock, STATS_LIMIT_MS, shutdown, read);
    const byUid = new Map(pods.map((stats) => [stats.podRef.uid, stats]));
    return (uid) => byUid.get(uid);
  }
}

const samePressure = (a: Pressure, b: Pressure) => a.memory === b.memory && a.disk === b.disk && a.pid === b.pid;
const isOfDisk = (signal: Signal): boolean => !["memory", "pids"].includes(resourceOf(signal));

/**
 * Keeps the node from running out of memory, disk space, inodes and process ids. It compares every measurement with the
 * thresholds and publishes the pressure on the node in the cell `pressure`. While a threshold is met it first requests
 * what no pod needs to be removed, and then evicts one pod at a time. Pods that exceed their own limits of local storage
 * are evicted together, before that.
 *
 * Nothing here waits for a removal or for the end of a pod: each measurement and each answer starts another round, so
 * that a slow removal of images delays no eviction for memory.
 */
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { nodeSubject, podSubject } from "../../domain/events/recorded-event.ts";
import {
  chooseVictims,
  IMMEDIATE_GRACE_SECONDS,
  reclaimSteps,
  type Victim,
  type VictimChoice,
} from "../../domain/eviction/choose-victims.ts";
import { EVICTED } from "../../domain/eviction/evicted.ts";
import { hasStorageLimit, type StorageViolator, storageViolators } from "../../domain/eviction/local-storage.ts";
import { thresholdMetMessage } from "../../domain/eviction/message.ts";
import type { StatsOf } from "../../domain/eviction/ranking.ts";
import {
  type Evaluation,
  type EvictionThreshold,
  evaluate,
  evictionThresholds,
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
import { keyOf } from "../../domain/pod/pod-identity.ts";
import type { Summary } from "../../domain/stats/summary-shape.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import { EvictedPods, type EvictedPodsParts } from "./evicted-pods.ts";
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
}

const CHECK_STORAGE_EVERY_MS = 10_000;
const STATS_LIMIT_MS = 5000;

export class EvictionLoop {
  readonly #parts: EvictionParts;
  readonly #evicted: EvictedPods;
  readonly #reclaim: NodeReclaim;
  #state = NO_EVICTION_STATE;
  #storageDueMs = 0;
  /** The signals for which the event on the Node was emitted, while their shortage lasts. */
  #attempted: Signal | undefined;

  constructor(parts: EvictionParts) {
    this.#parts = parts;
    this.#evicted = new EvictedPods(parts);
    this.#reclaim = new NodeReclaim(parts);
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { clock, log, nodeUsage, imagesReclaimed, containersReclaimed } = this.#parts;
    while (!shutdown.aborted) {
      const seen = [nodeUsage, imagesReclaimed, containersReclaimed].map((cell) => ({ cell, seen: cell.version }));
      let nextMs = CHECK_STORAGE_EVERY_MS;
      try {
        nextMs = Math.min(nextMs, await this.#round(shutdown));
      } catch (error) {
        if (shutdown.aborted) return;
        log.error("Failed to check whether pods must be evicted", error);
      }
      await waitForChange(clock, seen, nextMs, shutdown).catch((error: unknown) => {
        if (!shutdown.aborted) throw error;
      });
    }
  }
}

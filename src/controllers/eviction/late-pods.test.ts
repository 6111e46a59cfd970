import assert from "node:assert/strict";
import { test } from "node:test";
import { namedPod } from "../../../test/support/eviction-stats.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { admittedVerdict } from "../../../test/support/pods.ts";
import { keptLog } from "../../../test/support/quiet-log.ts";
import { parseThresholds } from "../../app/options/eviction-thresholds.ts";
import { Registry } from "../../base/metrics/registry.ts";
import { LatestCell } from "../../concurrency/latest-cell.ts";
import { LatestTable } from "../../concurrency/latest-table.ts";
import { NO_RECLAIM_REQUESTS, NOTHING_RECLAIMED } from "../../domain/eviction/reclaim.ts";
import { evictionMetrics } from "../../domain/metrics/eviction-metrics.ts";
import type { Pressure } from "../../domain/node/conditions.ts";
import { NO_PRESSURE, type NodeUsage } from "../../domain/node/pressure.ts";
import type { AdmittedPod } from "../../domain/pod/admitted-pod.ts";
import type { EndRequest } from "../../domain/pod/end-request.ts";
import { emptyOutcome, type PodOutcome } from "../../domain/pod/pod-outcome.ts";
import { EvictionLoop } from "./eviction.ts";

/** Nodefs is short, the rest of the node is not, and nothing can be removed before a pod. */
const shortUsage = (atMonotonicMs: number): NodeUsage => ({
  layout: "imagefs",
  observations: new Map([["nodefs.available", { available: 1n, capacity: 100n, atMonotonicMs }]]),
});

test("[6.9] a pod that exceeds its grace period is reported then, although nothing is measured at that time", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const reported: (readonly [atMs: number, reason: string])[] = [];
  const pod = namedPod("stuck");
  const admitted: AdmittedPod = {
    uid: "stuck",
    pod,
    isStatic: false,
    firstSeenWallMs: 0,
    verdict: admittedVerdict(pod),
  };
  const admittedPods = new LatestTable<string, AdmittedPod>();
  admittedPods.set("stuck", admitted);
  const podOutcomes = new LatestTable<string, PodOutcome>();
  podOutcomes.set("stuck", emptyOutcome("stuck"));
  const nodeUsage = new LatestCell(shortUsage(0));
  const summary = async () => ({ node: { nodeName: "n1", systemContainers: [], startTime: "" }, pods: [] });
  const running = new EvictionLoop({
    nodeUsage,
    pressure: new LatestCell<Pressure>(NO_PRESSURE),
    clock,
    log: keptLog(),
    events: { emit: (_subject, _type, reason) => void reported.push([clock.monotonicMs(), reason]) },
    journal: { note: () => {} },
    metrics: evictionMetrics(new Registry()),
    sourcesReady: new LatestCell(true),
    admittedPods,
    podOutcomes,
    evictions: new LatestTable<string, EndRequest>(),
    reclaimRequests: new LatestCell(NO_RECLAIM_REQUESTS),
    imagesReclaimed: new LatestCell(NOTHING_RECLAIMED),
    containersReclaimed: new LatestCell(NOTHING_RECLAIMED),
    usage: { usageSummary: summary, summary },
    settings: {
      hard: parseThresholds({ "nodefs.available": "10%" }),
      soft: [],
      minReclaims: new Map(),
      nodeName: "n1",
      enforcesPods: false,
      conditionHoldMs: 1,
      maxPodGraceSeconds: 0,
      localStorage: false,
      memorySignal: "working-set",
    },
  }).run(stop.signal);
  await clock.advance(9_000);
  nodeUsage.set(shortUsage(9_000));
  await clock.advance(1_000);
  const late = reported.filter(([, reason]) => reason === "ExceededGracePeriod");
  assert.deepEqual(late, [[10_000, "ExceededGracePeriod"]]);
  assert.ok(reported.some(([, reason]) => reason === "Evicted"));
  stop.abort();
  await running;
});

/**
 * Decides, for the most urgent threshold that is met, what is removed before any pod, and which pod is evicted with
 * which grace period. One pod is evicted per round. Critical, static and mirror pods never are.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { formatQuantity } from "../../base/quantity.ts";
import type { FilesystemLayout, Observations, Signal } from "../node/pressure.ts";
import type { EndRequest } from "../pod/end-request.ts";
import { isCriticalPod, keyOf } from "../pod/pod-identity.ts";
import { EVICTED, IMMEDIATE_GRACE_SECONDS } from "./evicted.ts";
import { type EvictionText, evictionText } from "./message.ts";
import { type Candidate, rankPods, type StatsOf } from "./ranking.ts";
import type { ReclaimTarget } from "./reclaim.ts";
import { type EvictionThreshold, isHard, resourceOf, type StarvedResource } from "./thresholds.ts";

/** What is removed first, in this order. Empty: pods are evicted at once. */
export function reclaimSteps(signal: Signal, layout: FilesystemLayout): readonly ReclaimTarget[] {
  const filesystem = signal.split(".")[0] ?? "";
  if (!["nodefs", "imagefs", "containerfs"].includes(filesystem)) return [];
  switch (layout) {
    case "shared":
      return ["containers", "images"];
    case "imagefs":
      return filesystem === "nodefs" ? [] : ["containers", "images"];
    case "split":
      return filesystem === "imagefs" ? ["images"] : ["containers"];
  }
}

/** One row of the table of candidates, as the journal keeps it. Amounts are in bytes, inodes or processes. */
export interface RankedPod {
  /** "namespace/name" */
  readonly pod: string;
  readonly uid: string;
  readonly priority: number;
  /** Absent: the pod has no stats. */
  readonly usage?: string;
  readonly request: string;
  readonly exceedsRequest: boolean;
  readonly evictable: boolean;
}

/** The request for the pod's worker, and the annotations of the event. */
export interface Victim extends Required<EndRequest>, EvictionText {
  readonly pod: Pod;
  readonly graceSeconds: number;
}

export interface VictimChoice {
  readonly threshold: EvictionThreshold;
  readonly resource: StarvedResource;
  /** All pods, the first to evict first. */
  readonly ranking: readonly RankedPod[];
  /** The evictable pods in that order. Only the first is evicted in this round. */
  readonly victims: readonly Victim[];
}

export interface VictimInputs {
  /** As `evaluate` returns them: the most urgent first. */
  readonly met: readonly EvictionThreshold[];
  readonly observations: Observations;
  readonly layout: FilesystemLayout;
  readonly pods: readonly Pod[];
  readonly statsOf: StatsOf;
  /** evictionMaxPodGracePeriod */
  readonly maxPodGraceSeconds: number;
}

/** Undefined: no threshold is met. */
export function chooseVictims(inputs: VictimInputs): VictimChoice | undefined {
  const { met, observations, layout, pods, statsOf, maxPodGraceSeconds } = inputs;
  const [threshold] = met;
  if (threshold === undefined) return undefined;
  const resource = resourceOf(threshold.signal);
  const candidates = rankPods({ signal: threshold.signal, layout }, pods, statsOf);
  const victims = candidates.filter(isEvictable).map(
    ({ pod }): Victim => ({
      pod,
      reason: EVICTED,
      graceSeconds: isHard(threshold) ? IMMEDIATE_GRACE_SECONDS : softGraceSeconds(pod, maxPodGraceSeconds),
      ...evictionText({ resource, met, observations }, pod, statsOf(pod.metadata?.uid ?? "")),
    }),
  );
  return { threshold, resource, ranking: candidates.map(rowOf), victims };
}

const isEvictable = ({ pod }: Candidate): boolean => !isCriticalPod(pod);

const softGraceSeconds = (pod: Pod, maxSeconds: number): number =>
  Math.min(maxSeconds, pod.spec?.terminationGracePeriodSeconds ?? maxSeconds);

function rowOf(candidate: Candidate): RankedPod {
  const { pod, priority, usage, request, exceedsRequest } = candidate;
  return {
    pod: keyOf(pod),
    uid: pod.metadata?.uid ?? "",
    priority,
    ...(usage === undefined ? {} : { usage: String(usage) }),
    request: formatQuantity(request),
    exceedsRequest,
    evictable: isEvictable(candidate),
  };
}

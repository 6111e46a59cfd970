/**
 * Ranks pods for eviction, as the Go kubelet does.
 *
 * For memory, disk space and inodes: pods without stats come first, then pods that use more than they request; then the
 * lower priority, then the larger usage above the request. For PIDs: the lower priority, then pods without stats, then
 * the larger number of processes. Pods that are equal in all of this keep their order.
 */
import type { Pod, Volume } from "../../api/gen/core-v1.ts";
import { addQuantities, type Quantity, wholeQuantity } from "../../base/quantity.ts";
import type { FilesystemLayout, Signal } from "../node/pressure.ts";
import { containerRequests, hasPodLevelResources, podLevelRequests, specOf } from "../resources/pod-resources.ts";
import { parseResourceList } from "../resources/resource-list.ts";
import type { ContainerStats, FsStats, PodStats } from "../stats/summary-shape.ts";
import { resourceOf, type StarvedResource } from "./thresholds.ts";

export type StatsOf = (uid: string) => PodStats | undefined;

export interface Candidate {
  readonly pod: Pod;
  readonly priority: number;
  /** In bytes, inodes or processes. Undefined: the pod has no stats. */
  readonly usage: bigint | undefined;
  /** What usage is compared with. */
  readonly request: Quantity;
  readonly exceedsRequest: boolean;
  /** Usage above the request in billionths, negative below it. Inodes are compared with the request for disk space. */
  readonly aboveRequest: bigint;
}

type Part = "rootfs" | "logs" | "volumes";

/** The pod's files that are on the signal's file system. */
const PARTS: Readonly<Record<FilesystemLayout, Readonly<Record<"nodefs" | "imagefs", readonly Part[]>>>> = {
  shared: { nodefs: ["rootfs", "logs", "volumes"], imagefs: ["rootfs", "logs", "volumes"] },
  imagefs: { nodefs: ["logs", "volumes"], imagefs: ["rootfs"] },
  split: { nodefs: ["rootfs", "logs", "volumes"], imagefs: [] },
};

/** The pods in the order in which they are evicted. */
export function rankPods(
  { signal, layout }: { readonly signal: Signal; readonly layout: FilesystemLayout },
  pods: readonly Pod[],
  statsOf: StatsOf,
): readonly Candidate[] {
  const resource = resourceOf(signal);
  const parts = partsOf(signal, layout);
  const candidates = pods.map((pod) => candidateOf(pod, statsOf(pod.metadata?.uid ?? ""), resource, parts));
  return candidates.toSorted(resource === "pids" ? byProcesses : byUsage);
}

function partsOf(signal: Signal, layout: FilesystemLayout): readonly Part[] {
  const filesystem = signal.split(".")[0];
  const isOnImagefs = filesystem === "imagefs" || (filesystem === "containerfs" && layout === "imagefs");
  return PARTS[layout][isOnImagefs ? "imagefs" : "nodefs"];
}

const byUsage = (a: Candidate, b: Candidate): number =>
  groupOf(a) - groupOf(b) || a.priority - b.priority || descending(a.aboveRequest, b.aboveRequest);

const byProcesses = (a: Candidate, b: Candidate): number =>
  a.priority - b.priority || groupOf(a) - groupOf(b) || descending(a.aboveRequest, b.aboveRequest);

const groupOf = ({ usage, exceedsRequest }: Candidate): number => (usage === undefined ? 0 : exceedsRequest ? 1 : 2);

const descending = (a: bigint, b: bigint): number => (a > b ? -1 : a < b ? 1 : 0);

function candidateOf(
  pod: Pod,
  stats: PodStats | undefined,
  resource: StarvedResource,
  parts: readonly Part[],
): Candidate {
  const priority = pod.spec?.priority ?? 0;
  const request = resource === "pids" ? wholeQuantity(0n, "DecimalSI") : requestOf(pod, resource);
  if (stats === undefined) return { pod, priority, usage: undefined, request, exceedsRequest: false, aboveRequest: 0n };
  const usage = usageOf(pod, stats, resource, parts);
  const nanos = wholeQuantity(usage, "DecimalSI").nanos;
  // Upstream subtracts the request for disk space from the number of inodes, too.
  const subtracted = resource === "inodes" ? requestOf(pod, "ephemeral-storage") : request;
  return {
    pod,
    priority,
    usage,
    request,
    exceedsRequest: resource !== "pids" && nanos > request.nanos,
    aboveRequest: nanos - subtracted.nanos,
  };
}

/** Requests at pod level replace those of all containers, even for resources that they do not name. */
function requestOf(pod: Pod, resource: StarvedResource): Quantity {
  const spec = specOf(pod);
  const requests = hasPodLevelResources(spec) ? podLevelRequests(spec) : containerRequests(spec);
  const request = requests.get(resource) ?? wholeQuantity(0n, "BinarySI");
  const overhead = request.nanos === 0n ? undefined : parseResourceList(spec.overhead).get(resource);
  return overhead === undefined ? request : addQuantities(request, overhead);
}

function usageOf(pod: Pod, stats: PodStats, resource: StarvedResource, parts: readonly Part[]): bigint {
  switch (resource) {
    case "memory":
      return BigInt(stats.memory?.workingSetBytes ?? 0);
    case "pids":
      return BigInt(stats.process_stats?.process_count ?? 0);
    case "ephemeral-storage":
      return sum(filesOf(pod, stats, parts).map(({ usedBytes = 0 }) => usedBytes));
    case "inodes":
      return sum(filesOf(pod, stats, parts).map(({ inodesUsed = 0 }) => inodesUsed));
  }
}

const sum = (values: readonly number[]): bigint => values.reduce((total, value) => total + BigInt(value), 0n);

function filesOf(pod: Pod, { containers, volume = [] }: PodStats, parts: readonly Part[]): readonly FsStats[] {
  const ofContainers = (part: Exclude<Part, "volumes">) =>
    containers.map((container: ContainerStats) => container[part]).filter((stats) => stats !== undefined);
  const ofVolumes = () =>
    (pod.spec?.volumes ?? [])
      .filter(isLocal)
      .map(({ name }) => volume.find((stats) => stats.name === name))
      .filter((stats) => stats !== undefined);
  return parts.flatMap((part): readonly FsStats[] => (part === "volumes" ? ofVolumes() : ofContainers(part)));
}

/** The volume types that upstream counts. Secrets, downward API and projected volumes are in memory. */
const isLocal = ({ hostPath, gitRepo, emptyDir, configMap }: Volume): boolean =>
  hostPath !== undefined ||
  gitRepo !== undefined ||
  configMap !== undefined ||
  (emptyDir !== undefined && (emptyDir.medium ?? "") === "");

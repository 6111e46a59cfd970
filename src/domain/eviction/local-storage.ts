/**
 * Which pods use more local storage than they may: an emptyDir more than its sizeLimit, a pod or a container more than
 * its limit of ephemeral storage. Every such pod is evicted in the same round. Critical, static and mirror pods never
 * are.
 *
 * The pod's usage includes its logs, its emptyDirs on disk and the hosts file that the agent writes for it. The hosts
 * file counts because a container can grow it without limit (CVE-2020-8557).
 */

import type { Pod } from "../../api/gen/core-v1.ts";
import { goQuote } from "../../base/go-text.ts";
import { formatQuantity, parseQuantity, type Quantity, quantityValue, wholeQuantity } from "../../base/quantity.ts";
import type { FilesystemLayout } from "../node/pressure.ts";
import type { EndRequest } from "../pod/end-request.ts";
import { isCriticalPod } from "../pod/pod-identity.ts";
import { podLimits, specOf } from "../resources/pod-resources.ts";
import type { FsStats, PodStats } from "../stats/summary-shape.ts";
import { EVICTED, IMMEDIATE_GRACE_SECONDS } from "./evicted.ts";
import type { StatsOf } from "./ranking.ts";

/** The values of the label `eviction_signal` that the metric of evictions has for these limits. */
export type StorageLimit = "emptydirfs.limit" | "ephemeralpodfs.limit" | "ephemeralcontainerfs.limit";

export interface StorageViolation {
  readonly limit: StorageLimit;
  /** Of the pod's status and of the event. */
  readonly message: string;
}

/** The request for the pod's worker. The event has no annotations, and the pod no condition DisruptionTarget. */
export interface StorageViolator extends StorageViolation, Required<EndRequest> {
  readonly pod: Pod;
}

/** In the order of `pods`, each with the first limit that it exceeds. A pod without stats exceeds none. */
export const storageViolators = (
  pods: readonly Pod[],
  statsOf: StatsOf,
  layout: FilesystemLayout,
): readonly StorageViolator[] =>
  pods
    .filter((pod) => !isCriticalPod(pod))
    .flatMap((pod) => {
      const stats = statsOf(pod.metadata?.uid ?? "");
      const violation = stats === undefined ? undefined : violationOf(pod, stats, layout);
      return violation === undefined
        ? []
        : [{ pod, reason: EVICTED, graceSeconds: IMMEDIATE_GRACE_SECONDS, ...violation }];
    });

/** Pods without any limit are not measured. */
export const hasStorageLimit = (pod: Pod): boolean =>
  (pod.spec?.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) ||
  specOf(pod).containers.some(({ resources }) => resources?.limits?.["ephemeral-storage"] !== undefined) ||
  podLimits(specOf(pod), { overhead: true }).has("ephemeral-storage");

const violationOf = (pod: Pod, stats: PodStats, layout: FilesystemLayout): StorageViolation | undefined =>
  emptyDirViolation(pod, stats) ?? podViolation(pod, stats) ?? containerViolation(pod, stats, layout);

/** An emptyDir in memory counts like one on disk. */
function emptyDirViolation(pod: Pod, { volume: measured = [] }: PodStats): StorageViolation | undefined {
  for (const { name, emptyDir } of pod.spec?.volumes ?? []) {
    const used = measured.find((stats) => stats.name === name)?.usedBytes;
    if (emptyDir?.sizeLimit === undefined || used === undefined) continue;
    const limit = parseQuantity(emptyDir.sizeLimit);
    if (limit.nanos <= 0n || !isAbove(BigInt(used), limit)) continue;
    const message = `Usage of EmptyDir volume ${goQuote(name)} exceeds the limit ${goQuote(formatQuantity(limit))}. `;
    return { limit: "emptydirfs.limit", message };
  }
  return undefined;
}

function podViolation(pod: Pod, stats: PodStats): StorageViolation | undefined {
  const limit = podLimits(specOf(pod), { overhead: true }).get("ephemeral-storage");
  if (limit === undefined || !isAbove(usedBytes(stats["ephemeral-storage"]), limit)) return undefined;
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `;
  return { limit: "ephemeralpodfs.limit", message };
}

/** As upstream: writable layers count only in the layout "shared", and init containers are not checked. */
function containerViolation(pod: Pod, stats: PodStats, layout: FilesystemLayout): StorageViolation | undefined {
  for (const { name, logs, rootfs } of stats.containers) {
    const container = specOf(pod).containers.find((one) => one.name === name);
    const limit = parseQuantity(container?.resources?.limits?.["ephemeral-storage"] ?? "0");
    const used = usedBytes(logs) + (layout === "shared" ? usedBytes(rootfs) : 0n);
    if (quantityValue(limit) === 0n || !isAbove(used, limit)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit ${goQuote(formatQuantity(limit))}. `;
    return { limit: "ephemeralcontainerfs.limit", message };
  }
  return undefined;
}

const usedBytes = (stats: FsStats | undefined): bigint => BigInt(stats?.usedBytes ?? 0);

const isAbove = (bytes: bigint, limit: Quantity): boolean => wholeQuantity(bytes, "BinarySI").nanos > limit.nanos;

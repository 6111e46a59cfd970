/**
 * Status message, condition and event annotations of an evicted pod, with the texts of the Go kubelet: the resource
 * that the node lacks, the threshold, and which containers use more than they request.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { compareQuantities, formatQuantity, parseQuantity, wholeQuantity } from "../../base/quantity.ts";
import type { Observations } from "../node/pressure.ts";
import { hasPodLevelResources, specOf } from "../resources/pod-resources.ts";
import type { ContainerStats, PodStats } from "../stats/summary-shape.ts";
import { LOW_ON_RESOURCE } from "./evicted.ts";
import { type EvictionThreshold, quantityOf, resourceOf, type StarvedResource } from "./thresholds.ts";

/** The event of the node before containers, images or pods are removed. */
export const thresholdMetMessage = (resource: StarvedResource): string => `Attempting to reclaim ${resource}`;

export interface EvictionText {
  /** Of the status, the event and the condition DisruptionTarget. */
  readonly message: string;
  /** Of the event. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Shortage {
  readonly resource: StarvedResource;
  /** The thresholds that are met, the most urgent first. */
  readonly met: readonly EvictionThreshold[];
  readonly observations: Observations;
}

/** Without stats only the resource and the threshold are known, and the event has no annotations. */
export function evictionText(shortage: Shortage, pod: Pod, stats: PodStats | undefined): EvictionText {
  const { resource } = shortage;
  const start = `${LOW_ON_RESOURCE}${resource}. ${thresholdText(shortage)}`;
  if (stats === undefined) return { message: start, annotations: {} };
  const whole = resource === "memory" ? podUsage(pod, stats) : undefined;
  const offending = offendingContainers(pod, stats, resource);
  const consumed = (used: string, request: string) =>
    `was using ${used}, request is ${request}, has larger consumption of ${resource}. `;
  const name = pod.metadata?.name ?? "";
  return {
    message: [
      start,
      whole === undefined ? "" : `Pod ${name} ${consumed(whole.used, whole.request)}`,
      ...offending.map((one) => `Container ${one.name} ${consumed(one.used, one.request)}`),
    ].join(""),
    annotations: {
      ...(whole === undefined ? {} : { offending_pod: name, offending_pod_usage: whole.used }),
      offending_containers: offending.map((one) => one.name).join(","),
      offending_containers_usage: offending.map(({ used }) => used).join(","),
      starved_resource: resource,
    },
  };
}

/** The threshold may be that of another signal of the same resource, whichever is most urgent. */
function thresholdText({ resource, met, observations }: Shortage): string {
  for (const threshold of met) {
    const observation = observations.get(threshold.signal);
    if (resourceOf(threshold.signal) !== resource || observation === undefined) continue;
    const format = resource === "memory" || resource === "ephemeral-storage" ? "BinarySI" : "DecimalSI";
    const available = formatQuantity(wholeQuantity(observation.available, format));
    return `Threshold quantity: ${formatQuantity(quantityOf(threshold, observation))}, available: ${available}. `;
  }
  return "";
}

interface Consumption {
  readonly used: string;
  readonly request: string;
}

/** A request for memory at pod level is named whether or not the pod uses more. */
function podUsage(pod: Pod, { memory }: PodStats): Consumption | undefined {
  const spec = specOf(pod);
  const request = spec.resources?.requests?.["memory"];
  if (!hasPodLevelResources(spec) || request === undefined || memory === undefined) return undefined;
  return { used: bytesText(memory.workingSetBytes), request: formatQuantity(parseQuantity(request)) };
}

/** Ephemeral containers have no requests and are never named. */
function offendingContainers(
  pod: Pod,
  { containers }: PodStats,
  resource: StarvedResource,
): readonly (Consumption & { readonly name: string })[] {
  const { containers: regular, initContainers = [] } = specOf(pod);
  const all = [...regular, ...initContainers];
  return containers.flatMap((stats) => {
    const container = all.find(({ name }) => name === stats.name);
    const used = usedBytes(stats, resource);
    if (container === undefined || used === undefined) return [];
    const request = parseQuantity(container.resources?.requests?.[resource] ?? "0");
    if (compareQuantities(wholeQuantity(BigInt(used), "BinarySI"), request) <= 0) return [];
    return [{ name: container.name, used: bytesText(used), request: formatQuantity(request) }];
  });
}

/** Undefined: not measured, or not a resource that containers request. */
function usedBytes({ rootfs, logs, memory }: ContainerStats, resource: StarvedResource): number | undefined {
  if (resource === "memory") return memory?.workingSetBytes;
  if (resource !== "ephemeral-storage") return undefined;
  if (rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return rootfs.usedBytes + logs.usedBytes;
}

const bytesText = (bytes: number): string => formatQuantity(wholeQuantity(BigInt(bytes), "BinarySI"));

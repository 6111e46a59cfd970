/**
 * Protects the requested memory of pods, and throttles containers before they are OOM-killed: the feature gate
 * MemoryQoS, on cgroup v2 only.
 *
 * With tiered reservation, a Guaranteed pod's memory is never reclaimed (memory.min). A Burstable pod's memory is
 * reclaimed only if no other memory is left (memory.low).
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { quantityValue } from "../../base/quantity.ts";
import { podRequests, specOf } from "./pod-resources.ts";
import { podQosClass, type QosClass } from "./qos-class.ts";
import { parseResourceList } from "./resource-list.ts";

export interface MemoryQos {
  /** Off: no memory is protected for any pod. */
  readonly tiered: boolean;
  /** From 0 to 1: how far a container may go from its request to its limit before it is throttled. */
  readonly throttlingFactor: number;
  /** The node's allocatable memory: the limit of containers that have none. */
  readonly allocatableBytes: bigint;
}

const MIN = "memory.min";
const LOW = "memory.low";
const HIGH = "memory.high";
const PAGE_BYTES = 4096;

const bytesOf = (amounts: Readonly<Record<string, string>> | undefined): bigint => {
  const memory = parseResourceList(amounts).get("memory");
  return memory === undefined ? 0n : quantityValue(memory);
};

/** The cgroup v2 files of a container. */
export function containerMemoryFiles(
  pod: Pod,
  { resources }: Pick<Container, "resources">,
  qos: MemoryQos,
): Readonly<Record<string, string>> {
  const [request, limit] = [bytesOf(resources?.requests), bytesOf(resources?.limits)];
  const kept =
    qos.tiered && request !== 0n ? { [fileOf(podQosClass(pod))]: String(request) } : { [MIN]: "0", [LOW]: "0" };
  const high = request === limit ? 0n : highBytes(request, limit === 0n ? qos.allocatableBytes : limit, qos);
  return high > request ? { ...kept, [HIGH]: String(high) } : kept;
}

const fileOf = (qosClass: QosClass) => (qosClass === "Guaranteed" ? MIN : LOW);

/** In whole pages, computed as upstream does, with the same loss in the last digits. */
function highBytes(request: bigint, limit: bigint, { throttlingFactor }: MemoryQos): bigint {
  const bytes = Math.floor(Number(request) + (Number(limit) - Number(request)) * throttlingFactor);
  return BigInt(Math.trunc(bytes / PAGE_BYTES)) * BigInt(PAGE_BYTES);
}

/** The files of a pod's cgroup. */
export function podMemoryFiles(pod: Pod, qos: MemoryQos): ReadonlyMap<string, string> {
  const request = requestOf(pod);
  return qos.tiered && request > 0n ? new Map([[fileOf(podQosClass(pod)), String(request)]]) : new Map();
}

/**
 * The files of the cgroup of all pods and of the Burstable cgroup. Memory that is protected for a pod must be protected
 * for the cgroups above it too.
 */
export function tierMemoryFiles(
  pods: Iterable<Pod>,
  { tiered }: MemoryQos,
): { readonly all: ReadonlyMap<string, string>; readonly burstable: ReadonlyMap<string, string> } {
  const { guaranteed, burstable } = requestedMemoryBytes(tiered ? pods : []);
  return { all: new Map([[MIN, String(guaranteed + burstable)]]), burstable: new Map([[LOW, String(burstable)]]) };
}

/** What the pods of each QoS class request together. */
export function requestedMemoryBytes(pods: Iterable<Pod>): { readonly guaranteed: bigint; readonly burstable: bigint } {
  let [guaranteed, burstable] = [0n, 0n];
  for (const pod of pods) {
    const qosClass = podQosClass(pod);
    if (qosClass === "Guaranteed") guaranteed += requestOf(pod);
    if (qosClass === "Burstable") burstable += requestOf(pod);
  }
  return { guaranteed, burstable };
}

function requestOf(pod: Pod): bigint {
  const memory = podRequests(specOf(pod), { overhead: true }).get("memory");
  return memory === undefined ? 0n : quantityValue(memory);
}

/** The files of a cgroup for system or Kubernetes daemons: all memory up to its limit is protected. */
export const reservedMemoryFiles = (limitBytes: bigint): ReadonlyMap<string, string> =>
  new Map([[MIN, String(limitBytes)]]);

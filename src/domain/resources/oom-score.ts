/** Computes oom_score_adj, by which the kernel selects the processes to kill when the machine runs out of memory. */
import type { Container, Pod, PodSpec } from "../../api/gen/core-v1.ts";
import { quantityValue } from "../../base/quantity.ts";
import { isSidecar } from "../pod/containers.ts";
import { isNodeCriticalPod } from "../pod/pod-identity.ts";
import { containerRequests, hasPodLevelRequests, specOf } from "./pod-resources.ts";
import { podQosClass } from "./qos-class.ts";
import { parseResourceList } from "./resource-list.ts";

/** The kubelet itself is killed last. */
export const KUBELET_OOM_SCORE_ADJ = -999;
const LAST = -997;
const FIRST = 1000;
/**
 * A Burstable container is never as safe as a Guaranteed one that uses all memory, nor as exposed as a BestEffort one.
 */
const BURSTABLE_MIN = 1000n + BigInt(LAST);
const BURSTABLE_MAX = BigInt(FIRST) - 1n;

export function oomScoreAdj(
  pod: Pod,
  container: Pick<Container, "name" | "resources">,
  memoryCapacityBytes: bigint,
): number {
  if (isNodeCriticalPod(pod)) return LAST;
  const qosClass = podQosClass(pod);
  if (qosClass === "Guaranteed") return LAST;
  if (qosClass === "BestEffort") return FIRST;
  const spec = specOf(pod);
  const shareBytes = unassignedShareBytes(spec);
  const scoreOf = (requestBytes: bigint) => 1000n - (1000n * (requestBytes + shareBytes)) / memoryCapacityBytes;
  const own = scoreOf(requestedBytes(container));
  const score = isSidecarOf(spec, container) ? smaller(own, scoreOf(leastRequestBytes(spec))) : own;
  return Number(score < BURSTABLE_MIN ? BURSTABLE_MIN : score > BURSTABLE_MAX ? BURSTABLE_MAX : score);
}

const smaller = (a: bigint, b: bigint) => (a < b ? a : b);

const requestedBytes = ({ resources }: Pick<Container, "resources">) => {
  const request = parseResourceList(resources?.requests).get("memory");
  return request === undefined ? 0n : quantityValue(request);
};

/** A sidecar is at least as safe as the regular container with the smallest request. */
const isSidecarOf = (spec: PodSpec, container: { readonly name: string }) =>
  (spec.initContainers ?? []).some((candidate) => candidate.name === container.name && isSidecar(candidate));

const leastRequestBytes = (spec: PodSpec) => spec.containers.map(requestedBytes).reduce(smaller);

/** Memory that the pod requests beyond its containers' requests is divided equally among all containers. */
function unassignedShareBytes(spec: PodSpec): bigint {
  const podBytes = hasPodLevelRequests(spec) ? requestedBytes(spec) : 0n;
  if (podBytes === 0n) return 0n;
  const assigned = containerRequests(spec).get("memory");
  const containers = spec.containers.length + (spec.initContainers ?? []).length;
  return (podBytes - (assigned === undefined ? 0n : quantityValue(assigned))) / BigInt(containers);
}

/**
 * Computes the requests and limits of a whole pod.
 *
 * Containers add up. Init containers run one after the other, so only the largest of them counts. A sidecar (an init
 * container that always restarts) keeps running, so it adds to the containers and to every init container after it.
 * Pod-level values replace the sum, and the overhead of the pod's runtime is added.
 */
import type { Pod, PodSpec, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { addQuantities } from "../../base/quantity.ts";
import { isSidecar } from "../pod/containers.ts";
import {
  addLists,
  HUGEPAGES_PREFIX,
  isNone,
  maxLists,
  NONE,
  parseResourceList,
  type ResourceList,
} from "./resource-list.ts";

type Kind = "requests" | "limits";

/** A pod without a spec requests nothing. */
export const specOf = (pod: Pod): PodSpec => pod.spec ?? { containers: [] };

/** The resource names that may be set at pod level. */
const isPodLevelName = (name: string) => name === "cpu" || name === "memory" || name.startsWith(HUGEPAGES_PREFIX);

const hasPodLevel = (spec: PodSpec, kind: Kind) => Object.keys(spec.resources?.[kind] ?? {}).some(isPodLevelName);

export const hasPodLevelRequests = (spec: PodSpec) => hasPodLevel(spec, "requests");
export const hasPodLevelResources = (spec: PodSpec) => hasPodLevel(spec, "requests") || hasPodLevel(spec, "limits");

/** The requests at pod level alone, without those of the containers. */
export const podLevelRequests = (spec: PodSpec): ResourceList => podLevel(spec, "requests");

/** The requests of the containers alone, without pod-level values and overhead. */
export const containerRequests = (spec: PodSpec): ResourceList => total(spec, "requests");

export function podRequests(spec: PodSpec, { overhead }: { readonly overhead: boolean }): ResourceList {
  const requests = hasPodLevelRequests(spec) ? override(spec, "requests") : total(spec, "requests");
  return overhead ? addLists(requests, parseResourceList(spec.overhead)) : requests;
}

/** Overhead only raises a limit that exists; it does not add one. */
export function podLimits(spec: PodSpec, { overhead }: { readonly overhead: boolean }): ResourceList {
  const limits = hasPodLevelResources(spec) ? override(spec, "limits") : total(spec, "limits");
  if (!overhead) return limits;
  const widened = new Map(limits);
  for (const [name, quantity] of parseResourceList(spec.overhead)) {
    const limit = limits.get(name);
    if (limit !== undefined && limit.nanos !== 0n) widened.set(name, addQuantities(limit, quantity));
  }
  return widened;
}

/**
 * Whether the resource is limited at every moment of the pod: in each container, and while each init container runs.
 */
export function isLimitedThroughout(spec: PodSpec, name: "cpu" | "memory"): boolean {
  if (!isNone(parseResourceList(spec.resources?.limits), name)) return true;
  const lists = [...spec.containers.map((container) => listOf(container, "limits")), ...initPhases(spec, "limits")];
  return lists.every((list) => !isNone(list, name));
}

function override(spec: PodSpec, kind: Kind): ResourceList {
  return new Map([...total(spec, kind), ...podLevel(spec, kind)]);
}

const podLevel = (spec: PodSpec, kind: Kind): ResourceList =>
  new Map([...parseResourceList(spec.resources?.[kind])].filter(([name]) => isPodLevelName(name)));

function total(spec: PodSpec, kind: Kind): ResourceList {
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const lasting = [...spec.containers, ...sidecars].map((container) => listOf(container, kind)).reduce(addLists, NONE);
  return initPhases(spec, kind).reduce(maxLists, lasting);
}

/** The amounts in use while each init container starts: its own, and those of the sidecars before it. */
function initPhases(spec: PodSpec, kind: Kind): readonly ResourceList[] {
  let sidecars = NONE;
  return (spec.initContainers ?? []).map((container) => {
    const own = listOf(container, kind);
    // The order of the sum decides which suffix it is formatted with.
    if (!isSidecar(container)) return addLists(own, sidecars);
    sidecars = addLists(sidecars, own);
    return sidecars;
  });
}

const listOf = (container: { readonly resources?: ResourceRequirements }, kind: Kind) =>
  parseResourceList(container.resources?.[kind]);

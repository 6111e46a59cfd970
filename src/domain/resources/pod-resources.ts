/**
 * What a whole pod asks for and what it is limited to.
 *
 * Containers add up. Init containers run one after the other, so of them only the largest counts; a sidecar (an init container
 * that is always restarted) stays, so it adds to the containers and to every init container after it. Values given for the pod as
 * a whole stand instead of the sum, and the overhead of its runtime comes on top.
 */
import type { Pod, PodSpec, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { addQuantities } from "../../base/quantity.ts";
import { isSidecar } from "../pod/every-container.ts";
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

/** A pod without a spec asks for nothing. */
export const specOf = (pod: Pod): PodSpec => pod.spec ?? { containers: [] };

/** The names that may be given for a pod as a whole. */
const isPodLevelName = (name: string) => name === "cpu" || name === "memory" || name.startsWith(HUGEPAGES_PREFIX);

const hasPodLevel = (spec: PodSpec, kind: Kind) => Object.keys(spec.resources?.[kind] ?? {}).some(isPodLevelName);

export const hasPodLevelRequests = (spec: PodSpec) => hasPodLevel(spec, "requests");
export const hasPodLevelResources = (spec: PodSpec) => hasPodLevel(spec, "requests") || hasPodLevel(spec, "limits");

/** What the containers alone request, without what is said of the pod as a whole and without overhead. */
export const containerRequests = (spec: PodSpec): ResourceList => total(spec, "requests");

export function podRequests(spec: PodSpec, { overhead }: { readonly overhead: boolean }): ResourceList {
  const requests = hasPodLevelRequests(spec) ? override(spec, "requests") : total(spec, "requests");
  return overhead ? addLists(requests, parseResourceList(spec.overhead)) : requests;
}

/** Overhead only widens a limit that exists: nothing becomes limited by it. */
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

/** Whether the resource is limited at every moment of the pod: in each container, and while each init container runs. */
export function isLimitedThroughout(spec: PodSpec, name: "cpu" | "memory"): boolean {
  if (!isNone(parseResourceList(spec.resources?.limits), name)) return true;
  const lists = [...spec.containers.map((container) => listOf(container, "limits")), ...initPhases(spec, "limits")];
  return lists.every((list) => !isNone(list, name));
}

function override(spec: PodSpec, kind: Kind): ResourceList {
  const given = [...parseResourceList(spec.resources?.[kind])].filter(([name]) => isPodLevelName(name));
  return new Map([...total(spec, kind), ...given]);
}

function total(spec: PodSpec, kind: Kind): ResourceList {
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const lasting = [...spec.containers, ...sidecars].map((container) => listOf(container, kind)).reduce(addLists, NONE);
  return initPhases(spec, kind).reduce(maxLists, lasting);
}

/** What is in use while each init container starts: its own and that of the sidecars before it. */
function initPhases(spec: PodSpec, kind: Kind): readonly ResourceList[] {
  let sidecars = NONE;
  return (spec.initContainers ?? []).map((container) => {
    const own = listOf(container, kind);
    // The order of the sum decides with which suffix it is written.
    if (!isSidecar(container)) return addLists(own, sidecars);
    sidecars = addLists(sidecars, own);
    return sidecars;
  });
}

const listOf = (container: { readonly resources?: ResourceRequirements }, kind: Kind) =>
  parseResourceList(container.resources?.[kind]);

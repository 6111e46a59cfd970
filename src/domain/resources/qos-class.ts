/**
 * The QoS class of a pod, from its requests and limits. It decides the pod's parent cgroup and the order of OOM kills.
 */
import type { Pod, PodSpec, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { compareQuantities } from "../../base/quantity.ts";
import { specOf } from "./pod-resources.ts";
import { addLists, isNone, NONE, parseResourceList, type ResourceList } from "./resource-list.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const CLASSES: readonly string[] = ["Guaranteed", "Burstable", "BestEffort"] satisfies readonly QosClass[];

/** The class that the API server has recorded, which never changes. Without one, as for static pods, it is computed. */
export function podQosClass(pod: Pod): QosClass {
  const recorded = pod.status?.qosClass;
  return recorded !== undefined && CLASSES.includes(recorded) ? (recorded as QosClass) : computeQosClass(specOf(pod));
}

export function computeQosClass(spec: PodSpec): QosClass {
  const owners = spec.resources === undefined ? containersOf(spec) : [spec.resources];
  const requests = owners.map((owner) => positive(owner.requests)).reduce(addLists, NONE);
  const limits = owners.map((owner) => positive(owner.limits)).reduce(addLists, NONE);
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  // Pod-level resources count as limited even without limits; the comparison below then decides.
  const limited = owners.every(
    ({ limits }) => isFullyLimited(limits) || (spec.resources !== undefined && isEmpty(limits)),
  );
  return limited && isSame(requests, limits) ? "Guaranteed" : "Burstable";
}

const containersOf = (spec: PodSpec): readonly ResourceRequirements[] =>
  [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources ?? {});

type Texts = Readonly<Record<string, string>> | undefined;

const isEmpty = (texts: Texts) => Object.keys(texts ?? {}).length === 0;

function isFullyLimited(limits: Texts): boolean {
  const list = positive(limits);
  return !isNone(list, "cpu") && !isNone(list, "memory");
}

/** Only positive amounts of CPU and memory determine the class. */
function positive(texts: Texts): ResourceList {
  const entries = [...parseResourceList(texts)];
  return new Map(entries.filter(([name, { nanos }]) => (name === "cpu" || name === "memory") && nanos > 0n));
}

function isSame(requests: ResourceList, limits: ResourceList): boolean {
  if (requests.size !== limits.size) return false;
  return [...requests].every(([name, request]) => {
    const limit = limits.get(name);
    return limit !== undefined && compareQuantities(request, limit) === 0;
  });
}

/**
 * What a pod was given of the node's resources. Its spec says what it wants, which may change while it runs; what it was allocated is what it
 * has until the node grants it another. Everything that runs a pod sees it with its allocation in place of what its spec wants.
 */
import type { Container, Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { compareQuantities, parseQuantity } from "../../base/quantity.ts";
import { specOf } from "../resources/pod-resources.ts";

export interface ResourceAllocation {
  /** By the name of the container. */
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  /** Of the pod as a whole, where that is said. */
  readonly podLevel?: ResourceRequirements;
}

/** All of a pod's containers that have resources of their own; one that somebody looks in with has none. */
export const resizable = (pod: Pod): readonly Container[] => {
  const { containers, initContainers = [] } = specOf(pod);
  return [...initContainers, ...containers];
};

export function allocationOf(pod: Pod): ResourceAllocation {
  const { resources } = specOf(pod);
  return {
    containers: Object.fromEntries(resizable(pod).map(({ name, resources: own }) => [name, own ?? {}])),
    ...(resources === undefined ? {} : { podLevel: resources }),
  };
}

/** The same object where it has what it wants. */
export function withAllocation(pod: Pod, allocation: ResourceAllocation): Pod {
  const { spec } = pod;
  if (spec === undefined || sameAllocation(allocationOf(pod), allocation)) return pod;
  const given = <C extends Container>(container: C): C => {
    const own = allocated(allocation, container.name);
    return own === undefined ? container : { ...container, resources: own };
  };
  const { resources: _, ...rest } = spec;
  return {
    ...pod,
    spec: {
      ...rest,
      ...(allocation.podLevel === undefined ? {} : { resources: allocation.podLevel }),
      containers: spec.containers.map(given),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(given) }),
    },
  };
}

/** Names are people's: one may be that of a property which every object has. */
export const allocated = ({ containers }: ResourceAllocation, name: string): ResourceRequirements | undefined =>
  Object.hasOwn(containers, name) ? containers[name] : undefined;

/** Whether it is the same amounts of the same resources, however they are written, of all containers that `wanted` names. */
export const sameAllocation = (wanted: ResourceAllocation, has: ResourceAllocation): boolean =>
  sameRequirements(wanted.podLevel, has.podLevel) &&
  Object.entries(wanted.containers).every(([name, own]) => {
    const given = allocated(has, name);
    return given === undefined || sameRequirements(own, given);
  });

/** The same containers with the same. */
export const equalAllocations = (a: ResourceAllocation, b: ResourceAllocation): boolean =>
  sameAllocation(a, b) && sameAllocation(b, a);

export const sameRequirements = (a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean =>
  sameList(a?.requests, b?.requests) && sameList(a?.limits, b?.limits);

type Texts = Readonly<Record<string, string>> | undefined;

function sameList(a: Texts = {}, b: Texts = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => sameQuantity(a[name], b[name]));
}

const sameQuantity = (a: string | undefined, b: string | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && compareQuantities(parseQuantity(a), parseQuantity(b)) === 0);

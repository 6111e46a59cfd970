/**
 * The node resources allocated to a pod. The spec says what the pod requests, which may change while it runs. The
 * allocation is what the pod has until the node grants another one. Everything that runs a pod sees it with its
 * allocation in place of its spec's resources.
 */
import type { Container, Pod, ResourceRequirements } from "../../api/gen/core-v1.ts";
import { compareQuantities, parseQuantity } from "../../base/quantity.ts";
import { specOf } from "../resources/pod-resources.ts";

export interface ResourceAllocation {
  /** By container name. */
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  /** Pod-level resources, if set. */
  readonly podLevel?: ResourceRequirements;
}

/** All of a pod's containers that can have resources; ephemeral containers have none. */
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

/** The same object if the pod already has this allocation. */
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

/** Users choose container names: one may equal the name of a property that every object has. */
export const allocated = ({ containers }: ResourceAllocation, name: string): ResourceRequirements | undefined =>
  Object.hasOwn(containers, name) ? containers[name] : undefined;

/**
 * Whether both have the same amounts of the same resources, however they are written. Containers that only one of them
 * names are ignored.
 */
export const sameAllocation = (wanted: ResourceAllocation, has: ResourceAllocation): boolean =>
  sameRequirements(wanted.podLevel, has.podLevel) &&
  Object.entries(wanted.containers).every(([name, own]) => {
    const given = allocated(has, name);
    return given === undefined || sameRequirements(own, given);
  });

/** The same amounts for the same containers. */
export const equalAllocations = (a: ResourceAllocation, b: ResourceAllocation): boolean =>
  Object.keys(a.containers).length === Object.keys(b.containers).length &&
  Object.keys(a.containers).every((name) => Object.hasOwn(b.containers, name)) &&
  sameAllocation(a, b);

export const sameRequirements = (a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean =>
  sameList(a?.requests, b?.requests) && sameList(a?.limits, b?.limits);

type Texts = Readonly<Record<string, string>> | undefined;

function sameList(a: Texts = {}, b: Texts = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => sameQuantity(a[name], b[name]));
}

const sameQuantity = (a: string | undefined, b: string | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && compareQuantities(parseQuantity(a), parseQuantity(b)) === 0);

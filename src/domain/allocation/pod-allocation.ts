/**
 * What this node gives a pod: amounts of CPU and memory, and for each container what it has for itself. Admission makes it, the journal keeps it, and
 * everything that runs the pod reads it. A kind of resource that is added is a field of `ContainerAllocation`.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { isJsonObject } from "../../base/json-equal.ts";
import { allocationOf, type ResourceAllocation } from "../resize/allocation.ts";

interface DeviceAllocation {
  /** The extended resource, such as `example.com/gpu`. */
  readonly resource: string;
  readonly ids: readonly string[];
}

/** A field that is absent is not restricted. */
export interface ContainerAllocation {
  /** The CPUs that no other container may use, as a list of the kernel's `cpuset.cpus`. */
  readonly cpus?: string;
  /** As a list of the kernel's `cpuset.mems`. */
  readonly memoryNodes?: string;
  readonly devices?: readonly DeviceAllocation[];
}

/** By container name; a container that has nothing for itself is absent. */
export type ContainerAllocations = Readonly<Record<string, ContainerAllocation>>;

export interface PodAllocation {
  readonly resources: ResourceAllocation;
  readonly containers: ContainerAllocations;
}

/** The amounts that the spec names, and nothing else. */
export const specAllocation = (pod: Pod): PodAllocation => ({ resources: allocationOf(pod), containers: {} });

const NOTHING: ContainerAllocation = {};

/** A container may have the name of a property that every object has. */
export const containerAllocation = (containers: ContainerAllocations, name: string): ContainerAllocation =>
  (Object.hasOwn(containers, name) ? containers[name] : undefined) ?? NOTHING;

/** Adds to what the container has; devices are appended. */
export function withContainerAllocation(
  allocation: PodAllocation,
  name: string,
  added: ContainerAllocation,
): PodAllocation {
  const before = containerAllocation(allocation.containers, name);
  const devices = [...(before.devices ?? []), ...(added.devices ?? [])];
  const after = { ...before, ...added, ...(devices.length > 0 && { devices }) };
  return { ...allocation, containers: { ...allocation.containers, [name]: after } };
}

export const hasExclusiveCpus = (containers: ContainerAllocations): boolean =>
  Object.values(containers).some(({ cpus }) => cpus !== undefined);

export const isEmpty = (containers: ContainerAllocations): boolean => Object.keys(containers).length === 0;

/** Of what was read from a disk. Fields of a later version are passed over. */
export const isContainerAllocations = (value: unknown): value is ContainerAllocations =>
  isJsonObject(value) && Object.values(value).every(isContainerAllocation);

const isContainerAllocation = (value: unknown): value is ContainerAllocation => {
  if (!isJsonObject(value)) return false;
  const { cpus, memoryNodes, devices } = value;
  const areTexts = [cpus, memoryNodes].every((text) => text === undefined || typeof text === "string");
  return areTexts && (devices === undefined || (Array.isArray(devices) && devices.every(isDeviceAllocation)));
};

const isDeviceAllocation = (value: unknown): value is DeviceAllocation => {
  if (!isJsonObject(value)) return false;
  const { resource, ids } = value;
  return typeof resource === "string" && Array.isArray(ids) && ids.every((id) => typeof id === "string");
};

/**
 * What this node allocates to a pod: amounts of CPU and memory, and exclusive resources for each container. Admission
 * creates it, the journal stores it, and everything that runs the pod reads it. A new kind of resource becomes a field
 * of `ContainerAllocation`.
 */
import type { Pod } from "../../api/gen/core-v1.ts";
import { isJsonObject } from "../../base/json-equal.ts";
import { allocationOf, type ResourceAllocation } from "../resize/allocation.ts";

interface DeviceAllocation {
  /** The extended resource, such as `example.com/gpu`. */
  readonly resource: string;
  readonly ids: readonly string[];
}

/** An absent field means no restriction. */
export interface ContainerAllocation {
  /** The CPUs that no other container may use, in the list format of the kernel's `cpuset.cpus`. */
  readonly cpus?: string;
  /** In the list format of the kernel's `cpuset.mems`. */
  readonly memoryNodes?: string;
  readonly devices?: readonly DeviceAllocation[];
}

/** By container name; containers without exclusive resources are absent. */
export type ContainerAllocations = Readonly<Record<string, ContainerAllocation>>;

export interface PodAllocation {
  readonly resources: ResourceAllocation;
  readonly containers: ContainerAllocations;
}

/** Only the amounts that the spec names. */
export const specAllocation = (pod: Pod): PodAllocation => ({ resources: allocationOf(pod), containers: {} });

const NOTHING: ContainerAllocation = {};

/** A container's name may equal a property that every object inherits, so only own properties count. */
export const containerAllocation = (containers: ContainerAllocations, name: string): ContainerAllocation =>
  (Object.hasOwn(containers, name) ? containers[name] : undefined) ?? NOTHING;

/** Merges into the container's allocation; devices are appended. */
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

/** Validates a value read from disk. Fields of a later version are ignored. */
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

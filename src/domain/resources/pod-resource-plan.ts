/**
 * All resource settings that follow from a pod's allocation and the node's settings, for the components that run pods.
 */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
import { containerAllocation, type PodAllocation } from "../allocation/pod-allocation.ts";
import { withAllocation } from "../resize/allocation.ts";
import type { LinuxResources } from "../runtime/resources.ts";
import { podCgroupName } from "./cgroup-name.ts";
import type { CgroupName, CgroupValues } from "./cgroup-values.ts";
import {
  type ContainerResourceOptions,
  containerResources,
  overheadResources,
  sandboxResources,
} from "./container-resources.ts";
import { type PodCgroupOptions, podCgroupValues } from "./pod-cgroup-values.ts";
import { specOf } from "./pod-resources.ts";
import { podQosClass } from "./qos-class.ts";

/** Amounts are those of the allocation, whatever the spec says. */
export interface PodResourcePlan {
  podCgroupName(pod: Pod): CgroupName;
  podCgroupValues(pod: Pod, allocation: PodAllocation): CgroupValues;
  /** For a regular, an init or an ephemeral container; an ephemeral container cannot have resources. */
  containerResources(pod: Pod, allocation: PodAllocation, containerName: string): LinuxResources;
  sandboxResources(
    pod: Pod,
    allocation: PodAllocation,
  ): { readonly overhead: LinuxResources; readonly resources: LinuxResources };
}

export function podResourcePlan(options: PodCgroupOptions & ContainerResourceOptions): PodResourcePlan {
  return {
    podCgroupName: (pod) => podCgroupName(podQosClass(pod), pod.metadata?.uid ?? ""),
    podCgroupValues: (pod, { resources, containers }) =>
      podCgroupValues(withAllocation(pod, resources), options, containers),
    containerResources: (pod, { resources, containers }, containerName) => {
      const allocated = withAllocation(pod, resources);
      const container = containerOf(allocated, containerName) ?? { name: containerName };
      return containerResources(allocated, container, options, containerAllocation(containers, containerName));
    },
    sandboxResources: (pod, { resources, containers }) => ({
      overhead: overheadResources(pod, options),
      resources: sandboxResources(withAllocation(pod, resources), options, containers),
    }),
  };
}

function containerOf(pod: Pod, name: string): Container | undefined {
  const { containers, initContainers = [] } = specOf(pod);
  return [...containers, ...initContainers].find((container) => container.name === name);
}

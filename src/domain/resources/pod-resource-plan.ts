/** All that a node's settings make of a pod's resources, settled once for those who run pods. */
import type { Container, Pod } from "../../api/gen/core-v1.ts";
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

export interface PodResourcePlan {
  podCgroup(pod: Pod): { readonly name: CgroupName; readonly values: CgroupValues };
  /** Of a container, an init container or an ephemeral one, which can have no resources of its own. */
  containerResources(pod: Pod, containerName: string): LinuxResources;
  sandboxResources(pod: Pod): { readonly overhead: LinuxResources; readonly resources: LinuxResources };
}

export function podResourcePlan(options: PodCgroupOptions & ContainerResourceOptions): PodResourcePlan {
  return {
    podCgroup: (pod) => ({
      name: podCgroupName(podQosClass(pod), pod.metadata?.uid ?? ""),
      values: podCgroupValues(pod, options),
    }),
    containerResources: (pod, containerName) =>
      containerResources(pod, containerOf(pod, containerName) ?? { name: containerName }, options),
    sandboxResources: (pod) => ({
      overhead: overheadResources(pod, options),
      resources: sandboxResources(pod, options),
    }),
  };
}

function containerOf(pod: Pod, name: string): Container | undefined {
  const { containers, initContainers = [] } = specOf(pod);
  return [...containers, ...initContainers].find((container) => container.name === name);
}

/** Files and cgroups of an isolated node, as this machine sees them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { cgroupPath, parseCgroupPath, podCgroupName } from "../../src/domain/resources/cgroup-name.ts";
import { podQosClass } from "../../src/domain/resources/qos-class.ts";
import type { ClusterNode } from "../cluster/cluster.ts";

/** Translates a path of the node to a path on the machine. */
export function onMachine(node: ClusterNode, path: string): string {
  const inside = /^\/var\/(?<which>lib|log)\/(?<rest>.*)$/.exec(path)?.groups;
  if (inside === undefined) throw new Error(`a node has no ${path} of its own`);
  return join(node.directory, inside["which"] ?? "", inside["rest"] ?? "");
}

export const podLogDirectoryOf = ({ metadata }: Pod): string =>
  `/var/log/pods/${metadata?.namespace}_${metadata?.name}_${metadata?.uid}`;

/** A container's output, without the prefixes that the runtime adds to each line. */
export async function logOf(node: ClusterNode, pod: Pod, container = "main", run = 0): Promise<string> {
  const text = await readFile(onMachine(node, `${podLogDirectoryOf(pod)}/${container}/${run}.log`), "utf8");
  return text
    .split("\n")
    .map((line) => line.replace(/^\S+ (?:stdout|stderr) [FP] /, ""))
    .join("\n");
}

/** The pod's cgroup, below the root of each hierarchy. */
export const podCgroupOf = (node: ClusterNode, pod: Pod): string =>
  cgroupPath(
    [...parseCgroupPath(node.cgroupParent), ...podCgroupName(podQosClass(pod), pod.metadata?.uid ?? "")],
    "cgroupfs",
  );

export const linksToLogs = async (node: ClusterNode, pod: Pod): Promise<readonly string[]> =>
  (await readdir(onMachine(node, "/var/log/containers"))).filter((name) =>
    name.startsWith(`${pod.metadata?.name}_${pod.metadata?.namespace}_`),
  );

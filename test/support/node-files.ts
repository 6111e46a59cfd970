/** Files and cgroups of a node in its box, seen from the machine. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../src/api/gen/core-v1.ts";
import { cgroupPath, parseCgroupPath, podCgroupName } from "../../src/domain/resources/cgroup-name.ts";
import { podQosClass } from "../../src/domain/resources/qos-class.ts";
import type { ClusterNode } from "../cluster/cluster.ts";

/** Where a path of the node is on the machine. */
export function onMachine(node: ClusterNode, path: string): string {
  const inside = /^\/var\/(?<which>lib|log)\/(?<rest>.*)$/.exec(path)?.groups;
  if (inside === undefined) throw new Error(`a node has no ${path} of its own`);
  return join(node.folder, inside["which"] ?? "", inside["rest"] ?? "");
}

export const podLogFolderOf = ({ metadata }: Pod): string =>
  `/var/log/pods/${metadata?.namespace}_${metadata?.name}_${metadata?.uid}`;

/** What a container wrote, without the marks the runtime puts before each line. */
export async function logOf(node: ClusterNode, pod: Pod, container = "main", run = 0): Promise<string> {
  const text = await readFile(onMachine(node, `${podLogFolderOf(pod)}/${container}/${run}.log`), "utf8");
  return text
    .split("\n")
    .map((line) => line.replace(/^\S+ (?:stdout|stderr) [FP] /, ""))
    .join("\n");
}

/** Below the root of each hierarchy. */
export const podCgroupOf = (node: ClusterNode, pod: Pod): string =>
  cgroupPath(
    [...parseCgroupPath(node.cgroupParent), ...podCgroupName(podQosClass(pod), pod.metadata?.uid ?? "")],
    "cgroupfs",
  );

export const linksToLogs = async (node: ClusterNode, pod: Pod): Promise<readonly string[]> =>
  (await readdir(onMachine(node, "/var/log/containers"))).filter((name) =>
    name.startsWith(`${pod.metadata?.name}_${pod.metadata?.namespace}_`),
  );

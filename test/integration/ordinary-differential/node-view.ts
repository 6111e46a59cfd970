/** What the node's disk and mount table hold of a pod, seen from within the node. */
import type { ClusterNode } from "../../cluster/cluster.ts";
import { type MountLine, parseMountinfo } from "./mountinfo.ts";

export interface NodeView {
  /** "<kind> <mode> <uid>:<gid> <path below the pod's folder> <target of a link>", in the order of the paths. */
  readonly tree: readonly string[];
  readonly mounts: readonly MountLine[];
}

const podFolder = (uid: string): string => `/var/lib/kubelet/pods/${uid}`;

export async function nodeView(node: ClusterNode, uid: string): Promise<NodeView> {
  const [found, table] = await Promise.all([
    node.run("find", podFolder(uid), "-mindepth", "1", "-printf", "%P\\t%y %m %U:%G\\t%l\\n"),
    node.run("cat", "/proc/self/mountinfo"),
  ]);
  const tree = found.stdout
    .split("\n")
    .filter((line) => line !== "")
    .toSorted()
    .map((line) => {
      const [path = "", facts = "", target = ""] = line.split("\t");
      return `${facts} ${path}${target === "" ? "" : ` -> ${target}`}`;
    });
  return { tree, mounts: parseMountinfo(table.stdout, (point) => point.includes(uid)) };
}

/** What is still there of a pod. */
export async function leftOf(node: ClusterNode, uid: string): Promise<readonly string[]> {
  const { tree, mounts } = await nodeView(node, uid);
  const folder = await node.run("test", "-e", podFolder(uid));
  return [...mounts.map(({ at }) => `mount ${at}`), ...tree, ...(folder.code === 0 ? [podFolder(uid)] : [])];
}

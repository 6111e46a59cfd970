/** What the node's disk and mount table hold of a pod, seen from within the node. */
import type { ClusterNode } from "../../cluster/cluster.ts";
import { type MountLine, parseMountinfo } from "./mountinfo.ts";

export interface NodeView {
  /** By path below the pod's folder, which is ".": "<kind> <mode> <uid>:<gid> <target of a link>". */
  readonly tree: Readonly<Record<string, string>>;
  readonly mounts: readonly MountLine[];
}

const podFolder = (uid: string): string => `/var/lib/kubelet/pods/${uid}`;

export async function nodeView(node: ClusterNode, uid: string): Promise<NodeView> {
  const [found, table] = await Promise.all([
    node.run("find", podFolder(uid), "-printf", "%P\\t%y %m %U:%G\\t%l\\n"),
    node.run("cat", "/proc/self/mountinfo"),
  ]);
  const lines = found.stdout.split("\n").filter((line) => line !== "");
  const entries = lines.toSorted().map((line) => {
    const [path = "", facts = "", target = ""] = line.split("\t");
    return [path || ".", target === "" ? facts : `${facts} -> ${target}`] as const;
  });
  return { tree: Object.fromEntries(entries), mounts: parseMountinfo(table.stdout, (point) => point.includes(uid)) };
}

/** What is still there of a pod. */
export async function leftOf(node: ClusterNode, uid: string): Promise<readonly string[]> {
  const { tree, mounts } = await nodeView(node, uid);
  return [...mounts.map(({ at }) => `mount ${at}`), ...Object.keys(tree)];
}

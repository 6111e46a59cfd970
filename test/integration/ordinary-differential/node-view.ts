/** A pod's files and mounts on the node, read from within the node. */
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ClusterNode } from "../../cluster/cluster.ts";
import { type MountLine, parseMountinfo } from "./mountinfo.ts";

export interface NodeView {
  /**
   * By path below the pod's directory, which is ".". Each value is "<kind> <mode> <uid>:<gid> -> <target of a
   * symlink>".
   */
  readonly tree: Readonly<Record<string, string>>;
  readonly mounts: readonly MountLine[];
}

const podDirectory = (uid: string): string => `/var/lib/kubelet/pods/${uid}`;

export async function nodeView(node: ClusterNode, uid: string): Promise<NodeView> {
  const [tree, table] = await Promise.all([
    entriesBelow(node.inside(podDirectory(uid))),
    // In /proc, next to the root of the process that holds the node's namespaces.
    readFile(join(dirname(node.inside("")), "mountinfo"), "utf8"),
  ]);
  return { tree: Object.fromEntries(tree), mounts: parseMountinfo(table, (point) => point.includes(uid)) };
}

/** An agent may remove files during the walk; missing files are left out. */
async function entriesBelow(root: string, path = "."): Promise<readonly (readonly [path: string, facts: string])[]> {
  const place = join(root, path);
  try {
    const found = await lstat(place);
    const mode = (found.mode & MODE_BITS).toString(8);
    const facts = `${KINDS[found.mode & KIND_BITS] ?? "?"} ${mode} ${found.uid}:${found.gid}`;
    if (found.isSymbolicLink()) return [[path, `${facts} -> ${await readlink(place)}`]];
    const names = found.isDirectory() ? await readdir(place) : [];
    const below = await Promise.all(names.map((name) => entriesBelow(root, join(path, name))));
    return [[path, facts], ...below.flat()];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

const MODE_BITS = 0o7777;
const KIND_BITS = 0o170000;
/** The letters of `find`. */
const KINDS: Readonly<Record<number, string>> = {
  [0o010000]: "p",
  [0o020000]: "c",
  [0o040000]: "d",
  [0o060000]: "b",
  [0o100000]: "f",
  [0o120000]: "l",
  [0o140000]: "s",
};

/** What is left of a pod on the node. */
export async function leftOf(node: ClusterNode, uid: string): Promise<readonly string[]> {
  const { tree, mounts } = await nodeView(node, uid);
  return [...mounts.map(({ at }) => `mount ${at}`), ...Object.keys(tree)];
}

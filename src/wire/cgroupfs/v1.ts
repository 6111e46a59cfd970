/** Groups of cgroup v1: the same folder in every hierarchy. */
import { join } from "node:path";
import type { V1Hierarchy } from "./hierarchies.ts";
import type { CgroupTree } from "./tree.ts";
import { v1Settings } from "./v1-settings.ts";
import type { CgroupVersion } from "./version.ts";

/** A group that lacks one of these is no group for a pod. Others are made, and not missed. */
const NEEDED: readonly string[] = ["cpu", "cpuacct", "cpuset", "memory", "name=systemd", "pids", "hugetlb"];

export function cgroupV1(mounts: readonly V1Hierarchy[], tree: CgroupTree): CgroupVersion {
  const needed = mounts.filter(({ controllers }) => controllers.some((controller) => NEEDED.includes(controller)));
  return {
    version: 1,
    roots: mounts.map(({ path }) => path),
    settings: v1Settings,
    async flaw(path, name) {
      const folders = needed.map((mount) => join(mount.path, path));
      const found = await Promise.all(folders.map((folder) => tree.isGroup(folder)));
      const missing = folders.filter((_, index) => found[index] !== true);
      return missing.length === 0 ? undefined : `cgroup ${name} has some missing paths: ${missing.join(", ")}`;
    },
    async make(path) {
      await Promise.all(mounts.map((mount) => makeIn(mount, path, tree)));
    },
    async folderOf(controller, path) {
      const mount = mounts.find(({ controllers }) => controllers.includes(controller));
      return mount === undefined ? undefined : join(mount.path, path);
    },
  };
}

/** Mostly only the last group is missing, and there are a dozen hierarchies: what is there is not made again. */
async function makeIn({ path: root, controllers }: V1Hierarchy, path: string, tree: CgroupTree): Promise<void> {
  const isCpuset = controllers.includes("cpuset");
  const folders = [root];
  for (const part of path.split("/")) if (part !== "") folders.push(join(folders.at(-1) ?? root, part));
  let first = folders.length - 1;
  while (first > 1 && !(await isSettled(tree, folders[first - 1] ?? root, isCpuset))) first -= 1;
  for (const [index, folder] of folders.entries()) {
    if (index < first || index === 0) continue;
    await tree.make(folder);
    if (isCpuset) await inheritCpuset(tree, folders[index - 1] ?? root, folder);
  }
}

/** Whether a group can be made below it as it is. */
async function isSettled(tree: CgroupTree, folder: string, isCpuset: boolean): Promise<boolean> {
  if (!isCpuset) return tree.isGroup(folder);
  const values = await Promise.all(CPUSET_FILES.map((file) => tree.read(join(folder, file))));
  return values.every((value) => value !== undefined && value.trim() !== "");
}

const CPUSET_FILES = ["cpuset.cpus", "cpuset.mems"] as const;

/** A new cpuset is empty, and nothing can run in it or below it until it has CPUs and memory nodes. */
async function inheritCpuset(tree: CgroupTree, parent: string, folder: string): Promise<void> {
  for (const file of CPUSET_FILES) {
    const own = await tree.read(join(folder, file));
    const inherited = (await tree.read(join(parent, file)))?.trim() ?? "";
    if (own?.trim() === "" && inherited !== "") await tree.write(join(folder, file), inherited);
  }
}

/** Cgroups of v1: the same path in every hierarchy. */
import { join } from "node:path";
import type { V1Hierarchy } from "./hierarchies.ts";
import type { CgroupTree } from "./tree.ts";
import { v1Settings } from "./v1-settings.ts";
import type { CgroupVersion } from "./version.ts";

/** A pod's cgroup must exist for each of these controllers. It is created for others too, but not required there. */
const NEEDED: readonly string[] = ["cpu", "cpuacct", "cpuset", "memory", "name=systemd", "pids", "hugetlb"];

export function cgroupV1(mounts: readonly V1Hierarchy[], tree: CgroupTree): CgroupVersion {
  const needed = mounts.filter(({ controllers }) => controllers.some((controller) => NEEDED.includes(controller)));
  return {
    version: 1,
    roots: mounts.map(({ path }) => path),
    settings: v1Settings,
    async validationError(path, name) {
      const directories = needed.map((mount) => join(mount.path, path));
      const found = await Promise.all(directories.map((directory) => tree.isGroup(directory)));
      const missing = directories.filter((_, index) => found[index] !== true);
      return missing.length === 0 ? undefined : `cgroup ${name} has some missing paths: ${missing.join(", ")}`;
    },
    async make(path) {
      await Promise.all(mounts.map((mount) => makeIn(mount, path, tree)));
    },
    async directoryOf(controller, path) {
      const mount = mounts.find(({ controllers }) => controllers.includes(controller));
      return mount === undefined ? undefined : join(mount.path, path);
    },
  };
}

/**
 * Usually only the last cgroup is missing, and there are a dozen hierarchies: existing cgroups are not created again.
 */
async function makeIn({ path: root, controllers }: V1Hierarchy, path: string, tree: CgroupTree): Promise<void> {
  const isCpuset = controllers.includes("cpuset");
  const directories = [root];
  for (const part of path.split("/")) if (part !== "") directories.push(join(directories.at(-1) ?? root, part));
  let first = directories.length - 1;
  while (first > 1 && !(await isSettled(tree, directories[first - 1] ?? root, isCpuset))) first -= 1;
  for (const [index, directory] of directories.entries()) {
    if (index < first || index === 0) continue;
    await tree.make(directory);
    if (isCpuset) await inheritCpuset(tree, directories[index - 1] ?? root, directory);
  }
}

/** Whether a child cgroup can be created in this one as it is. */
async function isSettled(tree: CgroupTree, directory: string, isCpuset: boolean): Promise<boolean> {
  if (!isCpuset) return tree.isGroup(directory);
  const values = await Promise.all(CPUSET_FILES.map((file) => tree.read(join(directory, file))));
  return values.every((value) => value !== undefined && value.trim() !== "");
}

const CPUSET_FILES = ["cpuset.cpus", "cpuset.mems"] as const;

/** A new cpuset is empty: nothing can run in it or below it until it has CPUs and memory nodes. */
async function inheritCpuset(tree: CgroupTree, parent: string, directory: string): Promise<void> {
  for (const file of CPUSET_FILES) {
    const own = await tree.read(join(directory, file));
    const inherited = (await tree.read(join(parent, file)))?.trim() ?? "";
    if (own?.trim() === "" && inherited !== "") await tree.write(join(directory, file), inherited);
  }
}

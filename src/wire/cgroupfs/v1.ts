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
    async isWhole(path) {
      for (const mount of needed) if (!(await tree.isGroup(join(mount.path, path)))) return false;
      return true;
    },
    async make(path) {
      for (const mount of mounts) {
        let folder = mount.path;
        for (const part of path.split("/").filter((part) => part !== "")) {
          const parent = folder;
          folder = join(folder, part);
          await tree.make(folder);
          if (mount.controllers.includes("cpuset")) await inheritCpuset(tree, parent, folder);
        }
      }
    },
    async folderOf(controller, path) {
      const mount = mounts.find(({ controllers }) => controllers.includes(controller));
      return mount === undefined ? undefined : join(mount.path, path);
    },
  };
}

/** A new cpuset is empty, and nothing can run in it or below it until it has CPUs and memory nodes. */
async function inheritCpuset(tree: CgroupTree, parent: string, folder: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const own = await tree.read(join(folder, file));
    const inherited = (await tree.read(join(parent, file)))?.trim() ?? "";
    if (own?.trim() === "" && inherited !== "") await tree.write(join(folder, file), inherited);
  }
}

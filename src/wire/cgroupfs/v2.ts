/** Groups of cgroup v2: one hierarchy, whose controllers every group hands down to those below it. */
import { join } from "node:path";
import type { CgroupTree } from "./tree.ts";
import { v2Settings } from "./v2-settings.ts";
import type { CgroupVersion } from "./version.ts";

/** What limits pods, where the machine has it. */
const NEEDED: readonly string[] = ["cpu", "cpuset", "memory", "hugetlb", "pids"];

export function cgroupV2(root: string, tree: CgroupTree): CgroupVersion {
  const words = async (...path: readonly string[]) => wordsOf(await tree.read(join(root, ...path)));
  const available = () => words("cgroup.controllers");
  return {
    version: 2,
    roots: [root],
    settings: v2Settings,
    async flaw(path, name) {
      const file = join(root, path, "cgroup.controllers");
      const text = await tree.read(file);
      if (text === undefined) {
        return `could not read controllers for cgroup ${name}: open ${file}: no such file or directory`;
      }
      const enabled = wordsOf(text);
      const needed = (await available()).filter((controller) => NEEDED.includes(controller));
      const missing = needed.filter((controller) => !enabled.includes(controller)).sort();
      return missing.length === 0 ? undefined : `cgroup ${name} has some missing controllers: ${missing.join(", ")}`;
    },
    async make(path) {
      const controllers = await available();
      let folder = root;
      for (const part of path.split("/").filter((part) => part !== "")) {
        await handDown(tree, folder, controllers);
        folder = join(folder, part);
        await tree.make(folder);
      }
    },
    async folderOf(controller, path) {
      return (await available()).includes(controller) ? join(root, path) : undefined;
    },
  };
}

async function handDown(tree: CgroupTree, folder: string, controllers: readonly string[]): Promise<void> {
  const file = join(folder, "cgroup.subtree_control");
  const enabled = wordsOf(await tree.read(file));
  const missing = controllers.filter((controller) => !enabled.includes(controller));
  if (missing.length === 0) return;
  try {
    await tree.write(file, missing.map((controller) => `+${controller}`).join(" "));
  } catch {
    // One that cannot be handed down must not hold back the others; only what limits pods is missed.
    for (const controller of missing) {
      await tree.write(file, `+${controller}`).catch((error: unknown) => {
        if (NEEDED.includes(controller)) {
          throw new Error(`cannot hand down ${controller} in ${file}: ${String(error)}`, { cause: error });
        }
      });
    }
  }
}

const wordsOf = (text: string | undefined) => (text ?? "").split(/\s+/).filter((word) => word !== "");

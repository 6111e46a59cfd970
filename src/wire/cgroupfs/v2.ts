/** Cgroups of v2: one hierarchy, in which every cgroup enables its controllers for the cgroups below it. */
import { join } from "node:path";
import type { CgroupTree } from "./tree.ts";
import { v2Settings } from "./v2-settings.ts";
import type { CgroupVersion } from "./version.ts";

/** Controllers that limit pods; each is required if the machine has it. */
const NEEDED: readonly string[] = ["cpu", "cpuset", "memory", "hugetlb", "pids"];

export function cgroupV2(root: string, tree: CgroupTree): CgroupVersion {
  const words = async (...path: readonly string[]) => wordsOf(await tree.read(join(root, ...path)));
  const available = () => words("cgroup.controllers");
  return {
    version: 2,
    roots: [root],
    settings: v2Settings,
    async validationError(path, name) {
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
      let directory = root;
      for (const part of path.split("/").filter((part) => part !== "")) {
        await handDown(tree, directory, controllers);
        directory = join(directory, part);
        await tree.make(directory);
      }
    },
    async directoryOf(controller, path) {
      return (await available()).includes(controller) ? join(root, path) : undefined;
    },
  };
}

async function handDown(tree: CgroupTree, directory: string, controllers: readonly string[]): Promise<void> {
  const file = join(directory, "cgroup.subtree_control");
  const enabled = wordsOf(await tree.read(file));
  const missing = controllers.filter((controller) => !enabled.includes(controller));
  if (missing.length === 0) return;
  try {
    await tree.write(file, missing.map((controller) => `+${controller}`).join(" "));
  } catch {
    // One controller that cannot be enabled must not block the others. It is an error only if the controller limits
    // pods.
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

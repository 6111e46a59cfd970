/** Reads the memory working set and limit of a cgroup. Usage includes all cgroups below it. */
import { join } from "node:path";
import type { CgroupMemory } from "../../ports/cgroups.ts";
import type { CgroupTree } from "./tree.ts";
import type { CgroupVersion } from "./version.ts";

const FILES = {
  1: { usage: "memory.usage_in_bytes", limit: "memory.limit_in_bytes", inactive: "total_inactive_file" },
  2: { usage: "memory.current", limit: "memory.max", inactive: "inactive_file" },
} as const;

/** Without a limit, v1 shows the largest number of whole pages, which is above this value. */
const UNLIMITED_BYTES = 2n ** 62n;

export async function readMemory(
  tree: CgroupTree,
  version: CgroupVersion,
  path: string,
): Promise<CgroupMemory | undefined> {
  const directory = await version.directoryOf("memory", path);
  if (directory === undefined) return undefined;
  const files = FILES[version.version];
  const [usage, limit, stat] = await Promise.all(
    [files.usage, files.limit, "memory.stat"].map((file) => tree.read(join(directory, file))),
  );
  if (usage === undefined || limit === undefined || stat === undefined) return undefined;
  const inactive = new RegExp(`^${files.inactive} (\\d+)$`, "m").exec(stat)?.[1];
  if (inactive === undefined) throw new Error(`cgroup ${path}: memory.stat has no ${files.inactive}`);
  const workingSetBytes = BigInt(usage.trim()) - BigInt(inactive);
  const limitBytes = limit.trim() === "max" ? undefined : BigInt(limit.trim());
  return {
    workingSetBytes: workingSetBytes > 0n ? workingSetBytes : 0n,
    limitBytes: limitBytes !== undefined && limitBytes < UNLIMITED_BYTES ? limitBytes : undefined,
  };
}

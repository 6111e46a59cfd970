/** Memory that could not be reclaimed at once: the memory in use without file pages that were not accessed recently. */
import type { CgroupMemoryStats } from "./stats-reading.ts";

export const workingSetBytes = (memory: Pick<CgroupMemoryStats, "usageBytes" | "inactiveFileBytes">): number =>
  Math.max(0, memory.usageBytes - memory.inactiveFileBytes);

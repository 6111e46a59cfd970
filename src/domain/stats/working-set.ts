/** Memory that could not be had back at once: what is in use but for file pages that nobody has touched lately. */
import type { MemoryFigures } from "./figures.ts";

export const workingSetBytes = (memory: Pick<MemoryFigures, "usageBytes" | "inactiveFileBytes">): number =>
  Math.max(0, memory.usageBytes - memory.inactiveFileBytes);

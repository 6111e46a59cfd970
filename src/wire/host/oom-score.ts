/** This process's place among those the kernel kills when memory runs out: -1000 is never, 1000 is first. */
import { writeFileSync } from "node:fs";

/** The threads of a process share it. Throws where the kernel refuses. */
export function setOwnOomScore(score: number): void {
  writeFileSync("/proc/self/oom_score_adj", String(score));
}

/** This process's OOM score adjustment: -1000 is never killed, 1000 is killed first. */
import { writeFileSync } from "node:fs";

/** Applies to all threads of the process. Throws if the kernel refuses. */
export function setOwnOomScore(score: number): void {
  writeFileSync("/proc/self/oom_score_adj", String(score));
}

/** How late the event loop is. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ProcessFigures } from "../../domain/metrics/process-families.ts";

const RESOLUTION_MS = 20;
const NS_PER_SECOND = 1e9;

/** Measured from now on; each answer is of the time since the one before. */
export function watchLoopDelay(): () => ProcessFigures["loopDelay"] {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  return () => {
    const seconds = (ns: number) => (Number.isNaN(ns) ? 0 : ns / NS_PER_SECOND);
    const told = {
      meanSeconds: seconds(delay.mean),
      p99Seconds: seconds(delay.percentile(99)),
      maxSeconds: seconds(delay.max),
    };
    delay.reset();
    return told;
  };
}

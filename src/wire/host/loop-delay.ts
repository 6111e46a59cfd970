/** Measures event-loop delay. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ProcessStats } from "../../domain/metrics/process-families.ts";

const RESOLUTION_MS = 20;
const NS_PER_SECOND = 1e9;

/** Starts measuring. Each call of the result covers the time since the previous call. */
export function watchLoopDelay(): () => ProcessStats["loopDelay"] {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  return () => {
    const seconds = (ns: number) => (Number.isNaN(ns) ? 0 : ns / NS_PER_SECOND);
    const reported = {
      meanSeconds: seconds(delay.mean),
      p99Seconds: seconds(delay.percentile(99)),
      maxSeconds: seconds(delay.max),
    };
    delay.reset();
    return reported;
  };
}

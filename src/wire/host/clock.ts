/**
 * The machine's clocks. Longer timers are chained, because Node's timers hold at most 2^31 ms. A pending timer keeps
 * the process alive.
 */
import type { Clock } from "../../ports/clock.ts";

const TIMER_MS_MAX = 2 ** 31 - 1;

export const hostClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, fire) {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number) => {
      const stepMs = Math.min(leftMs, TIMER_MS_MAX);
      handle = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : fire()), stepMs);
    };
    arm(delayMs > 0 ? delayMs : 0); // NaN becomes 0 too.
    return () => clearTimeout(handle);
  },
};

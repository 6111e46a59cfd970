/**
 * Notifies the service manager when the kubelet is ready, and then sends watchdog notifications while every health
 * check passes. A hung kubelet is killed and restarted by the service manager, which affects no pod. Failed
 * notifications are logged.
 */
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { pause } from "../../concurrency/sleep.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { ServiceManager, ServiceState } from "../../ports/service-manager.ts";

export interface ServiceParts {
  readonly manager: ServiceManager;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** One health check: returns the fault, or undefined if healthy. It may throw. */
export interface WatchdogCheck {
  readonly name: string;
  check(): string | undefined;
}

const NOTIFY_MS_MAX = 5_000;
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 8_000;
const AGAIN_JITTER = 0.1;

/** Returns whether the notification was delivered. */
export async function notifyService(state: ServiceState, parts: ServiceParts, signal: AbortSignal): Promise<boolean> {
  const { manager, clock, log } = parts;
  try {
    await withDeadline(clock, NOTIFY_MS_MAX, signal, (limited) => manager.notify(state, limited));
    log.info(5, "Notified the service manager", { news: state });
    return true;
  } catch (error) {
    if (!signal.aborted) log.error("Failed to notify the service manager", error, { news: state });
    return false;
  }
}

/** For notifications that must not be lost: resolves when delivered or when the signal aborts. */
export async function notifyUntilAcknowledged(
  state: ServiceState,
  parts: ServiceParts,
  shutdown: AbortSignal,
): Promise<void> {
  const { clock, random } = parts;
  for (let pauseMs = AGAIN_MS_MIN; !shutdown.aborted; pauseMs = Math.min(2 * pauseMs, AGAIN_MS_MAX)) {
    if (await notifyService(state, parts, shutdown)) return;
    await pause(clock, pauseMs * (1 + AGAIN_JITTER * random.fraction()), shutdown);
  }
}

/**
 * Runs until the signal aborts. A missed notification does not delay later ones, and a failed one is retried soon: half
 * of the watchdog timeout remains for that.
 */
export async function feedWatchdog(
  everyMs: number,
  checks: readonly WatchdogCheck[],
  parts: ServiceParts,
  shutdown: AbortSignal,
): Promise<void> {
  const { clock, random, log } = parts;
  const againMs = Math.min(AGAIN_MS_MIN, everyMs / 4);
  log.info(0, "Starting systemd watchdog with interval", { interval: `${everyMs}ms` });
  for (let dueMs = clock.monotonicMs(); !shutdown.aborted; ) {
    const fault = firstFault(checks);
    if (fault !== undefined)
      log.error("Do not notify watchdog this iteration as the kubelet is reportedly not healthy", new Error(fault));
    const isDone = fault !== undefined || (await notifyService("alive", parts, shutdown));
    const nowMs = clock.monotonicMs();
    if (isDone) dueMs = Math.max(dueMs + everyMs, nowMs);
    const pauseMs = isDone ? dueMs - nowMs : againMs * (1 + AGAIN_JITTER * random.fraction());
    await pause(clock, pauseMs, shutdown);
  }
}

function firstFault(checks: readonly WatchdogCheck[]): string | undefined {
  for (const check of checks) {
    try {
      const fault = check.check();
      if (fault !== undefined) return `checker ${check.name} failed: ${fault}`;
    } catch (error) {
      return `checker ${check.name} failed: ${errorText(error)}`;
    }
  }
  return undefined;
}

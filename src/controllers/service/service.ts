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
import type { ServiceManager, ServiceNews } from "../../ports/service-manager.ts";

export interface ServiceParts {
  readonly manager: ServiceManager;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** One health check: returns the fault, or undefined if healthy. It may throw. */
export interface VitalSign {
  readonly name: string;
  check(): string | undefined;
}

const TELL_MS_MAX = 5_000;
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 8_000;
const AGAIN_JITTER = 0.1;

/** Returns whether the notification was delivered. */
export async function tellService(news: ServiceNews, parts: ServiceParts, signal: AbortSignal): Promise<boolean> {
  const { manager, clock, log } = parts;
  try {
    await withDeadline(clock, TELL_MS_MAX, signal, (limited) => manager.tell(news, limited));
    log.info(5, "Notified the service manager", { news });
    return true;
  } catch (error) {
    if (!signal.aborted) log.error("Failed to notify the service manager", error, { news });
    return false;
  }
}

/** For notifications that must not be lost: resolves when delivered or when the signal aborts. */
export async function tellUntilSaid(news: ServiceNews, parts: ServiceParts, shutdown: AbortSignal): Promise<void> {
  const { clock, random } = parts;
  for (let pauseMs = AGAIN_MS_MIN; !shutdown.aborted; pauseMs = Math.min(2 * pauseMs, AGAIN_MS_MAX)) {
    if (await tellService(news, parts, shutdown)) return;
    await pause(clock, pauseMs * (1 + AGAIN_JITTER * random.fraction()), shutdown);
  }
}

/**
 * Runs until the signal aborts. A missed notification does not delay later ones, and a failed one is retried soon: half
 * of the watchdog timeout remains for that.
 */
export async function feedWatchdog(
  everyMs: number,
  signs: readonly VitalSign[],
  parts: ServiceParts,
  shutdown: AbortSignal,
): Promise<void> {
  const { clock, random, log } = parts;
  const againMs = Math.min(AGAIN_MS_MIN, everyMs / 4);
  log.info(0, "Starting systemd watchdog with interval", { interval: `${everyMs}ms` });
  for (let dueMs = clock.monotonicMs(); !shutdown.aborted; ) {
    const fault = firstFault(signs);
    if (fault !== undefined)
      log.error("Do not notify watchdog this iteration as the kubelet is reportedly not healthy", new Error(fault));
    const isDone = fault !== undefined || (await tellService("alive", parts, shutdown));
    const nowMs = clock.monotonicMs();
    if (isDone) dueMs = Math.max(dueMs + everyMs, nowMs);
    const pauseMs = isDone ? dueMs - nowMs : againMs * (1 + AGAIN_JITTER * random.fraction());
    await pause(clock, pauseMs, shutdown);
  }
}

function firstFault(signs: readonly VitalSign[]): string | undefined {
  for (const sign of signs) {
    try {
      const fault = sign.check();
      if (fault !== undefined) return `checker ${sign.name} failed: ${fault}`;
    } catch (error) {
      return `checker ${sign.name} failed: ${errorText(error)}`;
    }
  }
  return undefined;
}

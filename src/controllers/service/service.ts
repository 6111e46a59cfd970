/**
 * Tells the service manager that the agent is ready, and then that it lives, again and again, but only while every check passes: an agent that has come to
 * rest somewhere is ended from outside and started again, which costs no pod anything. What it could not be told is a line of the log.
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

/** One thing that can be wrong; undefined when it is well. It may throw. */
export interface VitalSign {
  readonly name: string;
  check(): string | undefined;
}

const TELL_MS_MAX = 5_000;
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 8_000;
const AGAIN_JITTER = 0.1;

/** Whether it has been said. */
export async function tellService(news: ServiceNews, parts: ServiceParts, signal: AbortSignal): Promise<boolean> {
  const { manager, clock, log } = parts;
  try {
    await withDeadline(clock, TELL_MS_MAX, signal, (limited) => manager.tell(news, limited));
    log.info(5, "The service manager was told", { news });
    return true;
  } catch (error) {
    if (!signal.aborted) log.error("The service manager could not be told", error, { news });
    return false;
  }
}

/** Ends when it has been said, or with the signal: for what must not be left unsaid. */
export async function tellUntilSaid(news: ServiceNews, parts: ServiceParts, shutdown: AbortSignal): Promise<void> {
  const { clock, random } = parts;
  for (let pauseMs = AGAIN_MS_MIN; !shutdown.aborted; pauseMs = Math.min(2 * pauseMs, AGAIN_MS_MAX)) {
    if (await tellService(news, parts, shutdown)) return;
    await pause(clock, pauseMs * (1 + AGAIN_JITTER * random.fraction()), shutdown);
  }
}

/** Until the signal. A time that was missed puts off none of those after it, and what could not be said is said again soon: there is half of the limit for it. */
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

/**
 * Tells the service manager that the agent is ready, and then that it lives, again and again, but only while every check passes: an agent that has come to
 * rest somewhere is ended from outside and started again, which costs no pod anything. What it could not be told is a line of the log.
 */
import { errorText } from "../../base/error-text.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import { sleep } from "../../concurrency/sleep.ts";
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
const TRIES = 2;
const AGAIN_MS = 1_000;
const AGAIN_JITTER = 0.1;

/** Ends when it has been said, or given up. */
export async function tellService(news: ServiceNews, parts: ServiceParts, shutdown: AbortSignal): Promise<void> {
  const { manager, clock, random, log } = parts;
  for (let tried = 1; ; tried += 1) {
    try {
      await withDeadline(clock, TELL_MS_MAX, shutdown, (signal) => manager.tell(news, signal));
      log.info(5, "The service manager was told", { news });
      return;
    } catch (error) {
      if (shutdown.aborted) return;
      if (tried === TRIES) return log.error("The service manager could not be told", error, { news });
      log.info(5, "The service manager could not be told, trying again", { news, err: errorText(error) });
    }
    await sleep(clock, AGAIN_MS * (1 + AGAIN_JITTER * random.fraction()), shutdown).catch(() => undefined);
  }
}

/** Until the signal. */
export async function feedWatchdog(
  everyMs: number,
  signs: readonly VitalSign[],
  parts: ServiceParts,
  shutdown: AbortSignal,
): Promise<void> {
  const { clock, log } = parts;
  log.info(0, "Starting systemd watchdog with interval", { interval: `${everyMs}ms` });
  while (!shutdown.aborted) {
    const fault = firstFault(signs);
    if (fault === undefined) await tellService("alive", parts, shutdown);
    else log.error("Do not notify watchdog this iteration as the kubelet is reportedly not healthy", new Error(fault));
    await sleep(clock, everyMs, shutdown).catch(() => undefined);
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

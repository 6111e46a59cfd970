/**
 * Reports the agent's state to the service manager: ready, alive while every watched loop makes progress, stopping.
 * Does nothing without a service manager.
 */

import { aborted } from "../concurrency/abort.ts";
import type { LoopHeartbeats } from "../concurrency/loop-heartbeats.ts";
import {
  feedWatchdog,
  notifyService,
  notifyUntilAcknowledged,
  type ServiceParts,
  type WatchdogCheck,
} from "../controllers/service/service.ts";
import type { Watchdog } from "../domain/service/watchdog.ts";
import type { ServiceManager } from "../ports/service-manager.ts";

export interface ServiceWiring extends Omit<ServiceParts, "manager"> {
  readonly manager: ServiceManager | undefined;
  readonly watchdog: Watchdog;
}

/** Covers more than the health checks of the server: every watched loop, by its name. */
export const loopsCheck = (heartbeats: Pick<LoopHeartbeats, "late">): WatchdogCheck => ({
  name: "loops",
  check: () => {
    const late = heartbeats.late();
    return late.length === 0 ? undefined : late.join(", ");
  },
});

/** Runs until the signal aborts, then reports `stopping` as the last state. */
export async function runService(
  { manager, watchdog, ...rest }: ServiceWiring,
  checks: readonly WatchdogCheck[],
  ready: Promise<void>,
  shutdown: AbortSignal,
): Promise<void> {
  if (manager === undefined) return;
  const parts = { ...rest, manager };
  const feeding = watchdog.kind === "on" ? feedWatchdog(watchdog.everyMs, checks, parts, shutdown) : undefined;
  await Promise.race([ready, aborted(shutdown)]);
  if (!shutdown.aborted) await notifyUntilAcknowledged("ready", parts, shutdown);
  await Promise.all([aborted(shutdown), feeding]);
  await notifyService("stopping", parts, new AbortController().signal);
}

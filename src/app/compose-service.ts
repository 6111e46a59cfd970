/**
 * Reports the agent's state to the service manager: ready, alive while every watched loop makes progress, stopping.
 * Does nothing without a service manager.
 */

import type { Turns } from "../concurrency/turns.ts";
import { untilAborted } from "../concurrency/until-aborted.ts";
import {
  feedWatchdog,
  type ServiceParts,
  tellService,
  tellUntilSaid,
  type VitalSign,
} from "../controllers/service/service.ts";
import type { Watchdog } from "../domain/service/watchdog.ts";
import type { ServiceManager } from "../ports/service-manager.ts";

export interface ServiceWiring extends Omit<ServiceParts, "manager"> {
  readonly manager: ServiceManager | undefined;
  readonly watchdog: Watchdog;
}

/** Covers more than the health checks of the server: every watched loop, by its name. */
export const loopsSign = (turns: Pick<Turns, "late">): VitalSign => ({
  name: "loops",
  check: () => {
    const late = turns.late();
    return late.length === 0 ? undefined : late.join(", ");
  },
});

/** Runs until the signal aborts, then reports `stopping` as the last state. */
export async function runService(
  { manager, watchdog, ...rest }: ServiceWiring,
  signs: readonly VitalSign[],
  ready: Promise<void>,
  shutdown: AbortSignal,
): Promise<void> {
  if (manager === undefined) return;
  const parts = { ...rest, manager };
  const feeding = watchdog.kind === "on" ? feedWatchdog(watchdog.everyMs, signs, parts, shutdown) : undefined;
  await Promise.race([ready, untilAborted(shutdown)]);
  if (!shutdown.aborted) await tellUntilSaid("ready", parts, shutdown);
  await Promise.all([untilAborted(shutdown), feeding]);
  await tellService("stopping", parts, new AbortController().signal);
}

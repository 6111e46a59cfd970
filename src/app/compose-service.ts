/** What the service manager hears of the agent: ready, alive while every loop that is watched turns, stopping. Nothing where nobody listens. */

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

/** More than the health checks that others may ask for: every loop that is watched, by its name. */
export const loopsSign = (turns: Pick<Turns, "late">): VitalSign => ({
  name: "loops",
  check: () => {
    const late = turns.late();
    return late.length === 0 ? undefined : late.join(", ");
  },
});

/** Ends with the signal, and with it what the manager was told last. */
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

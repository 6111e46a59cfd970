/**
 * Containers that exit at a random moment: time until the next run has started (B5) and until the status shows it (B6).
 */
import type { Outcome, Stage } from "../pod-driver.ts";
import type { Size } from "../sizes.ts";
import { median } from "../statistics.ts";
import { randomAge } from "./one-by-one.ts";

export async function exits({ world, driver, label }: Stage, size: Size): Promise<Outcome> {
  const [restarts, observations]: [number[], number[]] = [[], []];
  for (let index = 0; index < size.exits; index += 1) {
    // Each exit uses a new pod: only the first restart has no backoff.
    const name = `${label}-exit-${index}`;
    world.exitTrigger.clear();
    await driver.up(name, "triggered");
    const container = await world.exitTrigger.next();
    await randomAge();
    const changed = driver.changeObserved(name);
    const sinceMs = container.triggerExit();
    const [again, observedMs] = await Promise.all([world.exitTrigger.next(), changed]);
    if (again.connectedMs < sinceMs || observedMs < sinceMs)
      throw new Error(`the container of ${name} ended by itself`);
    restarts.push(again.connectedMs - sinceMs);
    observations.push(observedMs - sinceMs);
    await driver.down(name);
    await driver.tidy();
  }
  world.exitTrigger.clear();
  return {
    figures: [
      { benchmark: "B5", name: "exit to running again p50", unit: "ms", value: median(restarts), samples: restarts },
      { benchmark: "B6", name: "exit to status p50", unit: "ms", value: median(observations), samples: observations },
    ],
  };
}

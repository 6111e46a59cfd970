/**
 * Containers that exit at a random moment: time until the next run has started (B5) and until the status shows it (B6).
 */
import type { Outcome, Stage } from "../hand.ts";
import type { Size } from "../sizes.ts";
import { median } from "../statistics.ts";
import { randomAge } from "./one-by-one.ts";

export async function exits({ world, hand, label }: Stage, size: Size): Promise<Outcome> {
  const [restarts, notices]: [number[], number[]] = [[], []];
  for (let index = 0; index < size.exits; index += 1) {
    // Each exit uses a new pod: only the first restart has no backoff.
    const name = `${label}-exit-${index}`;
    world.exits.clear();
    await hand.up(name, "visitor");
    const visitor = await world.exits.next();
    await randomAge();
    const noticed = hand.noticed(name);
    const sinceMs = visitor.dismiss();
    const [again, noticedMs] = await Promise.all([world.exits.next(), noticed]);
    if (again.arrivedMs < sinceMs || noticedMs < sinceMs) throw new Error(`the container of ${name} ended by itself`);
    restarts.push(again.arrivedMs - sinceMs);
    notices.push(noticedMs - sinceMs);
    await hand.down(name);
    await hand.tidy();
  }
  world.exits.clear();
  return {
    figures: [
      { benchmark: "B5", name: "exit to running again p50", unit: "ms", value: median(restarts), samples: restarts },
      { benchmark: "B6", name: "exit to status p50", unit: "ms", value: median(notices), samples: notices },
    ],
  };
}

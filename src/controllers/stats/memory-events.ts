/**
 * Counts hints of the kernel that a pod met a limit or a protection of memory, so that memory is measured at once. Only
 * cgroup v2 gives them, and losing one costs latency: memory is measured periodically anyway.
 */
import { errorText } from "../../base/error-text.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { pause } from "../../concurrency/sleep.ts";
import { KUBEPODS } from "../../domain/resources/cgroup-name.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

/** A cgroup at its limit reports up to a hundred events per second. */
const EVENT_EVERY_MS = 100;

export interface MemoryEventsParts {
  /** Undefined until the runtime has reported its cgroup driver. */
  readonly cgroups: Latest<{ readonly pods: Pick<Cgroups, "memoryEvents"> } | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Raises the number in the cell with the hints, until shutdown. */
export async function countMemoryEvents(
  { cgroups, clock, log }: MemoryEventsParts,
  events: LatestCell<number>,
  shutdown: AbortSignal,
): Promise<void> {
  let following: Promise<void> | undefined;
  const follow = async (pods: Pick<Cgroups, "memoryEvents">) => {
    for await (const _ of pods.memoryEvents(KUBEPODS, shutdown)) {
      events.set(events.value + 1);
      await pause(clock, EVENT_EVERY_MS, shutdown);
    }
  };
  const start = () => {
    const pods = cgroups.value?.pods;
    if (pods === undefined) return;
    following ??= follow(pods).catch((error: unknown) =>
      log.info(0, "Memory events of pods cannot be followed", { err: errorText(error) }),
    );
  };
  start();
  await onChange(cgroups, start, shutdown);
  await following;
}

/** Merges the pod sources into `desiredPods` whenever one of them changes. */

import { unlessShutDown } from "../../concurrency/abort.ts";
import type { Latest, LatestCell } from "../../concurrency/latest-cell.ts";
import { waitForChange } from "../../concurrency/wait-for-change.ts";
import { podSubject } from "../../domain/events/recorded-event.ts";
import type { DesiredPods, SourceState } from "../../domain/pod/desired-pod.ts";
import type { PodSource } from "../../domain/pod/pod-identity.ts";
import { mergeSources, type Refusal } from "../../domain/static-pods/merge-sources.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";

export interface PodConfigParts {
  /** The configured sources. If two sources have a pod with the same UID, the earlier source wins. */
  readonly sources: ReadonlyMap<PodSource, Latest<SourceState>>;
  readonly desiredPods: LatestCell<DesiredPods>;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly log: Log;
}

export async function runPodConfig(parts: PodConfigParts, shutdown: AbortSignal): Promise<void> {
  const { sources, desiredPods, clock } = parts;
  let reported: ReadonlySet<string> = new Set();
  while (!shutdown.aborted) {
    const seen = [...sources.values()].map((cell) => ({ cell, seen: cell.version }));
    const states = new Map([...sources].map(([source, cell]) => [source, cell.value]));
    const { desired, refusals } = mergeSources(states, desiredPods.value, clock.wallMs());
    reported = tell(refusals, reported, parts);
    desiredPods.set(desired);
    await unlessShutDown(shutdown, () => waitForChange(clock, seen, Number.POSITIVE_INFINITY, shutdown));
  }
}

/** Reports each refusal once, and again when it returns after an absence. */
function tell(refusals: readonly Refusal[], reported: ReadonlySet<string>, { events, log }: PodConfigParts) {
  const now = new Set(refusals.map(({ message }) => message));
  for (const { pod, message } of refusals) {
    if (reported.has(message)) continue;
    log.info(0, message);
    events.emit(podSubject(pod), "Warning", "FailedValidation", message);
  }
  return now;
}

/** Journals problems that hold pods up but cause no event: an unhealthy container runtime. */

import type { Latest } from "../../concurrency/latest-cell.ts";
import { whenever } from "../../concurrency/whenever.ts";
import { type RuntimeHealth, runtimeTroubles } from "../../domain/node/runtime-health.ts";
import type { Clock } from "../../ports/clock.ts";
import type { JournalEventSink } from "./journal-event-sink.ts";

const FIRST_ANSWER_MS = 5_000;

export interface TroublesOptions {
  readonly journalEvents: Pick<JournalEventSink, "tell">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly runtimeHealth: Latest<RuntimeHealth>;
}

export async function watchTroubles(options: TroublesOptions, shutdown: AbortSignal): Promise<void> {
  const { journalEvents, clock, runtimeHealth } = options;
  const beginMs = clock.monotonicMs();
  let reported = "";
  const lookAtRuntime = () => {
    const why = runtimeTroubles(runtimeHealth.value).join("; ");
    const cause = why.replaceAll(/[\d.]+/g, "#");
    // A new kubelet process has not queried the runtime yet; report only a state that lasts.
    if (cause === reported || clock.monotonicMs() - beginMs < FIRST_ANSWER_MS) return;
    reported = cause;
    const reason = why === "" ? "RuntimeReady" : "RuntimeNotReady";
    journalEvents.tell("", { uid: "", on: "runtime", reason, why });
  };
  await whenever(runtimeHealth, lookAtRuntime, shutdown);
}

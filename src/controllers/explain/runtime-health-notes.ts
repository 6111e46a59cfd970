/** Journals problems that hold pods up but cause no event: an unhealthy container runtime. */

import type { Latest } from "../../concurrency/latest-cell.ts";
import { onChange } from "../../concurrency/on-change.ts";
import { withoutNumbers } from "../../domain/explain/node-states.ts";
import { type RuntimeHealth, runtimeTroubles } from "../../domain/node/runtime-health.ts";
import type { Clock } from "../../ports/clock.ts";
import type { JournalEventSink } from "./journal-event-sink.ts";

const FIRST_ANSWER_MS = 5_000;

export interface RuntimeHealthNotesOptions {
  readonly journalEvents: Pick<JournalEventSink, "note">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly runtimeHealth: Latest<RuntimeHealth>;
}

export async function noteRuntimeHealth(options: RuntimeHealthNotesOptions, shutdown: AbortSignal): Promise<void> {
  const { journalEvents, clock, runtimeHealth } = options;
  const beginMs = clock.monotonicMs();
  let reported = "";
  const noteHealth = () => {
    const why = runtimeTroubles(runtimeHealth.value).join("; ");
    const cause = withoutNumbers(why);
    // A new kubelet process has not queried the runtime yet; report only a state that lasts.
    if (cause === reported || clock.monotonicMs() - beginMs < FIRST_ANSWER_MS) return;
    reported = cause;
    const reason = why === "" ? "RuntimeReady" : "RuntimeNotReady";
    journalEvents.note("", { uid: "", on: "runtime", reason, why });
  };
  await onChange(runtimeHealth, noteHealth, shutdown);
}

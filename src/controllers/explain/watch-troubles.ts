/** Tells the narrator what holds pods up and nobody makes an event of: a runtime that is not well. */

import type { Latest } from "../../concurrency/latest-cell.ts";
import { whenever } from "../../concurrency/whenever.ts";
import { type RuntimeHealth, runtimeTroubles } from "../../domain/node/runtime-health.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Narrator } from "./narrator.ts";

const FIRST_ANSWER_MS = 5_000;

export interface TroublesOptions {
  readonly narrator: Pick<Narrator, "tell">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly runtimeHealth: Latest<RuntimeHealth>;
}

export async function watchTroubles(options: TroublesOptions, shutdown: AbortSignal): Promise<void> {
  const { narrator, clock, runtimeHealth } = options;
  const beginMs = clock.monotonicMs();
  let told = "";
  const lookAtRuntime = () => {
    const why = runtimeTroubles(runtimeHealth.value).join("; ");
    const cause = why.replaceAll(/[\d.]+/g, "#");
    // A new agent has asked it nothing yet: that is no trouble before it lasts.
    if (cause === told || clock.monotonicMs() - beginMs < FIRST_ANSWER_MS) return;
    told = cause;
    const reason = why === "" ? "RuntimeReady" : "RuntimeNotReady";
    narrator.tell("", { uid: "", on: "runtime", reason, why });
  };
  await whenever(runtimeHealth, lookAtRuntime, shutdown);
}

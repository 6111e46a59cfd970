/** Emits an event of the Node that says why a kubelet failed during setup, before the process ends. */

import { errorText } from "../base/error-text.ts";
import { sleep } from "../concurrency/sleep.ts";
import { EventRecorder } from "../controllers/events/event-recorder.ts";
import { nodeSubject } from "../domain/events/recorded-event.ts";
import type { KubeletPorts } from "./wiring.ts";

/** A supervisor that restarts the kubelet should not wait long for an event that may not get through. */
const REPORT_MS_MAX = 5_000;

export async function reportSetupFailure(
  { api, clock, random, logOf }: Pick<KubeletPorts, "api" | "clock" | "random" | "logOf">,
  nodeName: string,
  error: unknown,
): Promise<void> {
  if (api === undefined) return;
  const over = new AbortController();
  const end = () => over.abort(new Error("said, or too late"));
  const { events } = api;
  const recorder = new EventRecorder(
    {
      api: {
        create: (resource, object, signal) => events.create(resource, object, signal).finally(end),
        patch: (resource, name, patch, options, signal) => events.patch(resource, name, patch, options, signal),
      },
      clock,
      random,
      log: logOf("events"),
    },
    { nodeName, eventRecordQps: 0, eventBurst: 0 },
  );
  const message = errorText(error);
  recorder.emit(nodeSubject(nodeName), "Warning", "KubeletSetupFailed", message);
  const tooLate = sleep(clock, REPORT_MS_MAX, over.signal).then(end, () => undefined);
  await Promise.all([recorder.run(over.signal), tooLate]);
}

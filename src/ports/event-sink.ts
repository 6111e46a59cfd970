import type { EventSubject } from "../domain/events/recorded-event.ts";

/**
 * Emits events about pods and the node for users. `emit` never blocks and never fails: a loop must not depend on its
 * events.
 */
export interface EventSink {
  emit(
    subject: EventSubject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void;
}

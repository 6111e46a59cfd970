/** Emits events about the node itself. */
import { nodeSubject } from "../../domain/events/recorded-event.ts";
import type { NodeEvent } from "../../domain/node/node-status.ts";
import type { EventSink } from "../../ports/event-sink.ts";

export function tellNodeEvents(sink: EventSink, nodeName: string, events: readonly NodeEvent[]): void {
  const subject = nodeSubject(nodeName);
  for (const { type, reason, message } of events) sink.emit(subject, type, reason, message);
}

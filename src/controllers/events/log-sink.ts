/** Logs events; on a node without an API server the log is the only place where users find them. */
import type { EventSink } from "../../ports/event-sink.ts";
import type { Log } from "../../ports/log.ts";

export function logEventSink(log: Log, level: number): EventSink {
  return {
    emit(subject, type, reason, message) {
      const object = subject.namespace === "" ? subject.name : `${subject.namespace}/${subject.name}`;
      const fieldPath = subject.fieldPath === undefined ? {} : { fieldPath: subject.fieldPath };
      log.info(level, "Event occurred", { object, kind: subject.kind, ...fieldPath, type, reason, message });
    },
  };
}

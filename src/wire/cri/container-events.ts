/**
 * The runtime's container events, read from the connection into a bounded buffer as fast as they arrive. If the reader
 * is too slow, the stream ends with "resourceExhausted" and the reader lists again: no event is lost silently. The call
 * is sent when `events` is called. It lasts until the reader leaves the loop, the signal aborts, or the buffer is full.
 */

import { linkSignals } from "../../concurrency/abort.ts";
import type { ContainerEvent } from "../../domain/runtime/container.ts";
import type { RuntimeContainers } from "../../ports/runtime.ts";
import { RuntimeError } from "../../ports/runtime-error.ts";
import { type Caller, nothing } from "./caller.ts";
import { runtimeError } from "./errors.ts";
import { type ContainerEventResponse, ContainerEventType, RuntimeService } from "./gen/api_pb.js";
import { Malformed, nonEmpty, present, type Words, wallNs, wordOf } from "./parse.ts";

const rpc = RuntimeService.method.getContainerEvents;
const KINDS: Words<ContainerEvent["kind"], ContainerEventType> = [
  ["created", ContainerEventType.CONTAINER_CREATED_EVENT],
  ["started", ContainerEventType.CONTAINER_STARTED_EVENT],
  ["stopped", ContainerEventType.CONTAINER_STOPPED_EVENT],
  ["deleted", ContainerEventType.CONTAINER_DELETED_EVENT],
];

export function containerEvents(caller: Caller, eventsMax: number): RuntimeContainers["events"] {
  return (signal) => {
    const link = linkSignals(signal);
    const buffer: ContainerEvent[] = [];
    let end: { readonly error?: unknown } | undefined;
    let wake = nothing;

    const pump = async () => {
      for await (const message of caller.channel.serverStream(rpc, {}, link.signal)) {
        const event = readEvent(message, caller.onMalformed);
        if (event === undefined) continue;
        if (buffer.length >= eventsMax)
          throw new RuntimeError(rpc.name, "resourceExhausted", `${eventsMax} events unread`);
        buffer.push(event);
        wake();
      }
    };
    const finish = (outcome: { readonly error?: unknown }) => {
      end = outcome;
      link[Symbol.dispose]();
      wake();
    };
    pump().then(
      () => finish({}),
      (error: unknown) => finish({ error: signal.aborted ? signal.reason : runtimeError(rpc.name, error) }),
    );

    return (async function* () {
      try {
        for (;;) {
          const event = buffer.shift();
          if (event !== undefined) yield event;
          else if (end === undefined) await new Promise<void>((resolve) => (wake = resolve));
          else if ("error" in end) throw end.error;
          else return;
        }
      } finally {
        link.abort(new Error("the reader has left"));
      }
    })();
  };
}

function readEvent(from: ContainerEventResponse, onMalformed: (detail: string) => void): ContainerEvent | undefined {
  try {
    const { podSandboxStatus: sandbox } = from;
    return present({
      containerId: nonEmpty(from.containerId, "an event's container"),
      kind: wordOf(KINDS, from.containerEventType, "an event's kind"),
      wallNs: wallNs(from.createdAt),
      sandboxId: sandbox?.id || undefined,
      podUid: sandbox?.metadata?.uid || undefined,
    });
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    onMalformed(`${rpc.name}: ${error.message}`);
    return undefined;
  }
}

/** An `RpcChannel` that records a span for each call and sends the span's context to the server. */
import type { DescMethod } from "@bufbuild/protobuf";
import { errorText } from "../../base/error-text.ts";
import { grpcStatusName } from "../../base/grpc-status.ts";
import { DeadlineError } from "../../concurrency/deadline.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import type { Attributes } from "../../domain/tracing/trace-context.ts";
import type { Span, SpanStart, Tracer } from "../../ports/tracer.ts";
import { type CallNotes, type RpcChannel, RpcError } from "./rpc-channel.ts";

/** `server`: the server's address in the span. */
export function tracedChannel(channel: RpcChannel, tracer: Tracer, server: string): RpcChannel {
  const spanOf = (method: DescMethod): SpanStart => {
    const name = `${method.parent.typeName}/${method.name}`;
    const attributes = { "rpc.method": name, "rpc.system.name": "grpc", "server.address": server };
    return { scope: "deckhand/wire/grpc", name, kind: "client", attributes };
  };
  return {
    unary: (method, request, signal, notes) =>
      inSpan(tracer, spanOf(method), async (span) => {
        try {
          const answer = await channel.unary(method, request, signal, noted(span, notes));
          succeed(span);
          return answer;
        } catch (error) {
          fail(span, error);
          throw error;
        }
      }),

    serverStream: (method, request, signal, notes) => {
      const span = tracer.begin(spanOf(method));
      try {
        return reported(span, channel.serverStream(method, request, signal, noted(span, notes)));
      } catch (error) {
        fail(span, error);
        span.end();
        throw error;
      }
    },

    close: () => channel.close(),
  };
}

/** Sends the span's headers to the server, and records an event for each message. */
function noted(span: Span, notes: CallNotes | undefined): CallNotes {
  let [sent, received] = [0, 0];
  return {
    headers: { ...notes?.headers, ...span.headers },
    onSent: (bytes) => {
      sent += 1;
      span.event("message", messageOf("SENT", sent, bytes));
      notes?.onSent(bytes);
    },
    onReceived: (bytes) => {
      received += 1;
      span.event("message", messageOf("RECEIVED", received, bytes));
      notes?.onReceived(bytes);
    },
  };
}

const messageOf = (type: string, id: number, bytes: number): Attributes => ({
  "rpc.message.type": type,
  "rpc.message.id": id,
  "rpc.message.compressed_size": bytes,
  "rpc.message.uncompressed_size": bytes,
});

/** Passes the messages on; the span ends with them. */
async function* reported<T>(span: Span, messages: AsyncIterable<T>): AsyncIterable<T> {
  let hasEnded = false;
  try {
    for await (const message of messages) yield message;
    succeed(span);
    hasEnded = true;
  } catch (error) {
    fail(span, error);
    hasEnded = true;
    throw error;
  } finally {
    // The reader left the loop, which cancels the call.
    if (!hasEnded) span.set(statusOf("Canceled"));
    span.end();
  }
}

const statusOf = (name: string) => ({ "rpc.response.status_code": name });

const succeed = (span: Span) => span.set(statusOf("OK"));

function fail(span: Span, error: unknown): void {
  span.set(statusOf(statusName(error)));
  span.fail(errorText(error));
}

function statusName(error: unknown): string {
  if (error instanceof RpcError) return grpcStatusName(error.code);
  return error instanceof DeadlineError ? "DeadlineExceeded" : "Canceled";
}

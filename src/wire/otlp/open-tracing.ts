/** A tracer that sends its spans to a collector. */
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { Tracer } from "../../ports/tracer.ts";
import { openGrpcChannel } from "../grpc/grpc-channel.ts";
import { SpanExport } from "./span-export.ts";
import { createTracer } from "./tracer.ts";

export interface TracingOptions {
  readonly endpoint: string;
  /** How many of the traces that begin here are kept. */
  readonly perMillion: number;
  readonly hostName: string;
}

export interface Tracing {
  readonly tracer: Tracer;
  /** Delivers the remaining spans, for a few seconds at most. */
  close(): Promise<void>;
}

const MESSAGE_BYTES_MAX = 4 * 2 ** 20;

export function openTracing(
  { endpoint, perMillion, hostName }: TracingOptions,
  { clock, random, log }: { readonly clock: Clock; readonly random: Random; readonly log: Log },
): Tracing {
  const spans = new SpanExport({
    clock,
    log,
    open: () => openGrpcChannel({ endpoint, messageBytesMax: MESSAGE_BYTES_MAX }),
    resource: { "service.name": "kubelet", "host.name": hostName },
  });
  const tracer = createTracer({ clock, random, perMillion, finished: (span) => spans.add(span) });
  return { tracer, close: () => spans.close() };
}

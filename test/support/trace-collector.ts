/** A trace collector on a third-party gRPC server. It keeps every received span in a form that tests can inspect. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import {
  type AnyValue,
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
  type KeyValue,
  type ResourceSpans,
  type Span,
  Span_SpanKind,
  Status_StatusCode,
} from "../../src/wire/otlp/gen/otlp-trace_pb.js";

export interface CollectedSpan {
  /** Resource attributes of the program that sent the span. */
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
  readonly name: string;
  readonly kind: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty when the span has no parent. */
  readonly parentId: string;
  readonly parentIsRemote: boolean;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  /** Undefined when the span did not fail. */
  readonly failure: string | undefined;
}

export interface TraceCollector {
  /** In order of arrival. */
  readonly spans: readonly CollectedSpan[];
  /** Sizes of the received batches. */
  readonly batches: readonly number[];
  /** The bound port; for port 0, the one that the system chose. */
  readonly port: number;
  close(): void;
}

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const whole = (bytes: Buffer): Uint8Array => bytes;

/** `address`: "unix:///path" or "127.0.0.1:0". */
export async function startTraceCollector(address: string): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const batches: number[] = [];
  const take: handleUnaryCall<Uint8Array, Uint8Array> = ({ request }, reply) => {
    const { resourceSpans } = fromBinary(ExportTraceServiceRequestSchema, request);
    const taken = resourceSpans.flatMap(spansOf);
    spans.push(...taken);
    batches.push(taken.length);
    reply(null, toBinary(ExportTraceServiceResponseSchema, create(ExportTraceServiceResponseSchema)));
  };
  const server = new Server();
  const method = {
    path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    requestStream: false,
    responseStream: false,
    requestSerialize: asBuffer,
    requestDeserialize: whole,
    responseSerialize: asBuffer,
    responseDeserialize: whole,
  } as const;
  server.addService({ Export: method }, { Export: take });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { spans, batches, port, close: () => server.forceShutdown() };
}

function spansOf({ resource, scopeSpans }: ResourceSpans): readonly CollectedSpan[] {
  const of = plain(resource?.attributes ?? []);
  return scopeSpans.flatMap(({ scope, spans }) => spans.map((span) => collected(span, of, scope?.name ?? "")));
}

const PARENT_IS_REMOTE = 0x200;

const collected = (span: Span, resource: Readonly<Record<string, unknown>>, scope: string): CollectedSpan => ({
  resource,
  scope,
  name: span.name,
  kind: Span_SpanKind[span.kind] ?? String(span.kind),
  traceId: Buffer.from(span.traceId).toString("hex"),
  spanId: Buffer.from(span.spanId).toString("hex"),
  parentId: Buffer.from(span.parentSpanId).toString("hex"),
  parentIsRemote: (span.flags & PARENT_IS_REMOTE) !== 0,
  startNs: span.startTimeUnixNano,
  endNs: span.endTimeUnixNano,
  attributes: plain(span.attributes),
  events: span.events.map(({ name, attributes }) => ({ name, attributes: plain(attributes) })),
  failure: span.status?.code === Status_StatusCode.ERROR ? span.status.message : undefined,
});

const plain = (attributes: readonly KeyValue[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function valueOf(value: AnyValue | undefined): unknown {
  const held = value?.value;
  if (held?.case === "arrayValue") return held.value.values.map(valueOf);
  return held?.case === "intValue" ? Number(held.value) : held?.value;
}

/** Encodes finished spans for an OTLP collector. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  Attributes,
  AttributeValue,
  FinishedSpan,
  ParentContext,
  SpanContext,
  SpanKind,
} from "../../domain/tracing/trace-context.ts";
import {
  type AnyValueSchema,
  type ExportTraceServiceRequestSchema,
  type KeyValueSchema,
  Span_SpanKind,
  type SpanSchema,
  Status_StatusCode,
} from "./gen/otlp-trace_pb.js";

/** `resource`: the attributes of the process that recorded these spans. */
export function exportRequest(
  spans: readonly FinishedSpan[],
  resource: Attributes,
): MessageInitShape<typeof ExportTraceServiceRequestSchema> {
  const byScope = Map.groupBy(spans, ({ scope }) => scope);
  const scopeSpans = [...byScope].map(([name, ofScope]) => ({ scope: { name }, spans: ofScope.map(encodeSpan) }));
  return { resourceSpans: [{ resource: { attributes: encodeAttributes(resource) }, scopeSpans }] };
}

const KINDS: Readonly<Record<SpanKind, Span_SpanKind>> = {
  internal: Span_SpanKind.INTERNAL,
  server: Span_SpanKind.SERVER,
  client: Span_SpanKind.CLIENT,
};

function encodeSpan(span: FinishedSpan): MessageInitShape<typeof SpanSchema> {
  const { context, parent, failure } = span;
  return {
    traceId: Buffer.from(context.traceId, "hex"),
    spanId: Buffer.from(context.spanId, "hex"),
    parentSpanId: Buffer.from(parent?.spanId ?? "", "hex"),
    traceState: context.traceState,
    flags: flagsOf(context, parent),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanosOf(span.startWallMs),
    endTimeUnixNano: nanosOf(span.endWallMs),
    attributes: encodeAttributes(span.attributes),
    events: span.events.map(({ name, wallMs, attributes }) => ({
      name,
      timeUnixNano: nanosOf(wallMs),
      attributes: encodeAttributes(attributes),
    })),
    status: failure === undefined ? {} : { code: Status_StatusCode.ERROR, message: failure },
  };
}

const SAMPLED = 0x001;
const KNOWS_WHETHER_REMOTE = 0x100;
const IS_REMOTE = 0x200;

const flagsOf = ({ sampled }: SpanContext, parent: ParentContext | undefined): number =>
  KNOWS_WHETHER_REMOTE | (sampled ? SAMPLED : 0) | (parent?.isRemote === true ? IS_REMOTE : 0);

/** Splits the number: it holds today's milliseconds to a quarter of a microsecond, but not their nanoseconds. */
function nanosOf(ms: number): bigint {
  const whole = Math.floor(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6));
}

const encodeAttributes = (attributes: Attributes): MessageInitShape<typeof KeyValueSchema>[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: encodeValue(value) }));

function encodeValue(value: AttributeValue): MessageInitShape<typeof AnyValueSchema> {
  if (typeof value === "string") return { value: { case: "stringValue", value } };
  if (typeof value === "boolean") return { value: { case: "boolValue", value } };
  if (Number.isSafeInteger(value)) return { value: { case: "intValue", value: BigInt(value) } };
  return { value: { case: "doubleValue", value } };
}

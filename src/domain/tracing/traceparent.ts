/** The headers that carry a trace from one program to the next (W3C Trace Context). */
import type { ParentContext, SpanContext } from "./span.ts";

const FORM =
  /^(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<more>-.*)?$/;
const SAMPLED = 0x01;
/** Any program on the way may truncate longer values. A value that is too long or has invalid characters is dropped. */
const TRACE_STATE = /^[\x20-\x7e]{1,512}$/;

export function formatTraceparent({ traceId, spanId, sampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** Undefined: the header is invalid, and its receiver starts a new trace. */
export function parseTraceparent(header: string, traceState = ""): ParentContext | undefined {
  const parts = FORM.exec(header.trim())?.groups;
  if (parts === undefined) return undefined;
  const { version = "", traceId = "", spanId = "", flags = "", more } = parts;
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (isZero(traceId) || isZero(spanId)) return undefined;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  return { traceId, spanId, sampled, traceState: TRACE_STATE.test(traceState) ? traceState : "", isRemote: true };
}

const isZero = (id: string) => /^0+$/.test(id);

/** The headers for a request to another program. */
export function traceHeaders(context: SpanContext): Readonly<Record<string, string>> {
  const traceparent = formatTraceparent(context);
  return context.traceState === "" ? { traceparent } : { traceparent, tracestate: context.traceState };
}

/**
 * Traced operations, which readers follow through several programs: their random IDs, which of them are sampled, and
 * the headers that carry a trace to the next program (W3C Trace Context). Names and numbers are OpenTelemetry's.
 */

/** A whole number is an integer on the wire. */
export type AttributeValue = string | number | boolean;
export type Attributes = Readonly<Record<string, AttributeValue>>;

export type SpanKind = "internal" | "server" | "client";

/** Identifies a span in other programs too. IDs are in hex. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether the trace is kept. Unsampled contexts are still propagated, so that all parts of a trace agree. */
  readonly sampled: boolean;
  /** Data that vendors pass along with the trace; Deckhand does not read it. */
  readonly traceState: string;
}

export interface ParentContext extends SpanContext {
  /** Whether the parent is in another process. */
  readonly isRemote: boolean;
}

export interface SpanEvent {
  readonly name: string;
  readonly wallMs: number;
  readonly attributes: Attributes;
}

export interface FinishedSpan {
  /** The component that reports the span. */
  readonly scope: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: ParentContext | undefined;
  readonly startWallMs: number;
  readonly endWallMs: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  /** Why the operation failed, possibly empty; undefined: it did not fail. */
  readonly failure: string | undefined;
}

const DRAW_HEX = 8;

/**
 * Four bytes of each draw; a draw is from 0 up to, but not including, 1. An ID of only zeros means "none", so it
 * becomes 1.
 */
function hexOf(draw: () => number, draws: number): string {
  const parts = Array.from({ length: draws }, () =>
    Math.floor(draw() * 2 ** 32)
      .toString(16)
      .padStart(DRAW_HEX, "0"),
  );
  const id = parts.join("");
  return /^0+$/.test(id) ? id.replace(/0$/, "1") : id;
}

export const newTraceId = (draw: () => number): string => hexOf(draw, 4);
export const newSpanId = (draw: () => number): string => hexOf(draw, 2);

/** The range of the compared part of a trace ID: 63 bits. */
const WHOLE = 2n ** 63n;
const MILLION = 1_000_000;

/**
 * Samples traces whose parent was sampled, and a number per million of new traces. The result for a new trace depends
 * only on its ID: programs with the same rate sample the same traces.
 */
export function isSampled(traceId: string, perMillion: number, parent: SpanContext | undefined): boolean {
  if (parent !== undefined) return parent.sampled;
  if (perMillion >= MILLION) return true;
  if (perMillion <= 0) return false;
  const drawn = BigInt(`0x${traceId.slice(16)}`) >> 1n;
  // Computed from a fraction, as others do: the bound must equal theirs to the last bit.
  return drawn < BigInt(Math.trunc((perMillion / MILLION) * Number(WHOLE)));
}

/** The header `traceparent`. */
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

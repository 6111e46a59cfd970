/** One traced operation, for readers that follow it through several programs. Names and numbers are OpenTelemetry's. */

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

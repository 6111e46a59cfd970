/** What one piece of work leaves behind for those who follow it through several programs. Words and numbers as OpenTelemetry has them. */

/** A whole number is an integer on the wire. */
export type AttributeValue = string | number | boolean;
export type Attributes = Readonly<Record<string, AttributeValue>>;

export type SpanKind = "internal" | "server" | "client";

/** What a span is called in other programs, too. Ids are in hex. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether anybody keeps its trace. Those that nobody keeps are still told on, so that all of a trace agree. */
  readonly sampled: boolean;
  /** What vendors have told each other on the way; not ours to read. */
  readonly traceState: string;
}

export interface ParentContext extends SpanContext {
  /** In another process. */
  readonly isRemote: boolean;
}

export interface SpanEvent {
  readonly name: string;
  readonly wallMs: number;
  readonly attributes: Attributes;
}

export interface FinishedSpan {
  /** The part of the program that tells of it. */
  readonly scope: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: ParentContext | undefined;
  readonly startWallMs: number;
  readonly endWallMs: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  /** Why it failed, possibly in no words; undefined: it did not. */
  readonly failure: string | undefined;
}

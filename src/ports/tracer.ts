/**
 * Records which work belongs to which, also across programs. A span is ended once, by whoever began it. No call of this
 * port waits, fails or throws, even if the span collector is down.
 */
import type { Attributes, SpanKind } from "../domain/tracing/trace-context.ts";

export interface SpanStart {
  /** The part of the program that records the span. */
  readonly scope: string;
  readonly name: string;
  /** Default: "internal". */
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /**
   * Default: the span that is active now. "none": starts its own trace. Otherwise: the trace headers of a request from
   * outside.
   */
  readonly parent?: "none" | { readonly traceparent: string; readonly tracestate: string };
}

export interface Span {
  /** Request headers that make another program's work part of this span. */
  readonly headers: Readonly<Record<string, string>>;
  set(attributes: Attributes): void;
  /** Records an event in the span. Of very many events, the last ones are kept. */
  event(name: string, attributes: Attributes): void;
  /** Marks the span as failed, with a message that may be empty. With `error`, the error is recorded, too. */
  fail(message: string, error?: unknown): void;
  /** Whether `fail` was called. */
  readonly failed: boolean;
  end(): void;
}

export interface Tracer {
  begin(start: SpanStart): Span;
  /** Spans that `run` begins, also after a wait, belong to this span. */
  within<T>(span: Span, run: () => T): T;
}

const NO_SPAN: Span = {
  headers: {},
  failed: false,
  set: () => {},
  event: () => {},
  fail: () => {},
  end: () => {},
};

/** Used when tracing is off. */
export const noTracer: Tracer = {
  begin: () => NO_SPAN,
  within: (_span, run) => run(),
};

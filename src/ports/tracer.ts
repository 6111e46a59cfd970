/**
 * Tells which work was done as part of which, also across programs. A span that is begun is ended by whoever began it, once, and costs
 * nobody else anything: no call of this port waits, fails or throws, whatever becomes of those who collect spans.
 */
import type { Attributes, SpanKind } from "../domain/tracing/span.ts";

export interface SpanStart {
  /** The part of the program that tells of it. */
  readonly scope: string;
  readonly name: string;
  /** "internal" unless said. */
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** The span that this happens in unless said; "none": a trace of its own; else what a request from outside said. */
  readonly parent?: "none" | { readonly traceparent: string; readonly tracestate: string };
}

export interface Span {
  /** What makes another program's work part of this span, as headers of a request. */
  readonly headers: Readonly<Record<string, string>>;
  set(attributes: Attributes): void;
  /** Something that happened in it. Of very many the last ones are kept. */
  event(name: string, attributes: Attributes): void;
  /** It ends as failed, in these words, which may be none. With the error, what it was is told, too. */
  fail(message: string, error?: unknown): void;
  /** Whether it was told that it fails. */
  readonly failed: boolean;
  end(): void;
}

export interface Tracer {
  begin(start: SpanStart): Span;
  /** What `run` begins, now or after any wait of its, belongs to this span. */
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

/** Where nothing is traced. */
export const noTracer: Tracer = {
  begin: () => NO_SPAN,
  within: (_span, run) => run(),
};

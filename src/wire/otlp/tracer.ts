/**
 * The Tracer port: spans of this process. A span's parent is the span in which it was begun. The asynchronous context
 * holds it, so it survives every await. All spans of one trace here use one reading of the wall clock, and the
 * monotonic clock after it. So a child never seems to begin before its parent, even if the wall clock jumps.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { boundedText } from "../../base/cut-text.ts";
import { errorText } from "../../base/error-text.ts";
import {
  type Attributes,
  type FinishedSpan,
  isSampled,
  newSpanId,
  newTraceId,
  type ParentContext,
  parseTraceparent,
  type SpanContext,
  type SpanEvent,
  traceHeaders,
} from "../../domain/tracing/trace-context.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Span, SpanStart, Tracer } from "../../ports/tracer.ts";
import { SPAN_TEXT_BYTES_MAX } from "../limits.ts";

export interface TracerParts {
  readonly clock: Clock;
  readonly random: Random;
  /** How many of the traces that begin here are kept. */
  readonly perMillion: number;
  /** Receives each span that is kept, when it ends. */
  readonly finished: (span: FinishedSpan) => void;
}

export function createTracer(parts: TracerParts): Tracer {
  const active = new AsyncLocalStorage<LiveSpan>();
  return {
    begin: (start) => new LiveSpan(start, active.getStore(), parts),
    within: (span, run) => (span instanceof LiveSpan ? active.run(span, run) : run()),
  };
}

/** The limit of OpenTelemetry's own tracers: some spans last for days. */
export const EVENTS_MAX = 128;

/** The same moment by both clocks. */
interface Anchor {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

class LiveSpan implements Span {
  readonly headers: Readonly<Record<string, string>>;
  readonly #start: SpanStart;
  readonly #parts: TracerParts;
  readonly #context: SpanContext;
  readonly #parent: ParentContext | undefined;
  readonly #anchor: Anchor;
  readonly #startWallMs: number;
  #attributes: Attributes;
  readonly #events: SpanEvent[] = [];
  #failure: string | undefined;
  #ended = false;

  constructor(start: SpanStart, around: LiveSpan | undefined, parts: TracerParts) {
    const { random, clock, perMillion } = parts;
    const draw = () => random.fraction();
    const local = start.parent === undefined ? around : undefined;
    this.#parent = local === undefined ? remoteParent(start) : { ...local.#context, isRemote: false };
    const traceId = this.#parent?.traceId ?? newTraceId(draw);
    this.#context = {
      traceId,
      spanId: newSpanId(draw),
      sampled: isSampled(traceId, perMillion, this.#parent),
      traceState: this.#parent?.traceState ?? "",
    };
    this.headers = traceHeaders(this.#context);
    this.#start = start;
    this.#parts = parts;
    this.#attributes = start.attributes ?? {};
    this.#anchor = local === undefined ? { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() } : local.#anchor;
    this.#startWallMs = this.#nowWallMs();
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  event(name: string, attributes: Attributes): void {
    if (!this.#context.sampled) return;
    this.#events.push({ name, wallMs: this.#nowWallMs(), attributes });
    if (this.#events.length > EVENTS_MAX) this.#events.shift();
  }

  fail(message: string, error?: unknown): void {
    this.#failure = boundedText(message, SPAN_TEXT_BYTES_MAX);
    if (error === undefined) return;
    const attributes = {
      "exception.type": error instanceof Error ? error.name : typeof error,
      "exception.message": boundedText(errorText(error), SPAN_TEXT_BYTES_MAX),
    };
    this.event("exception", attributes);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.#context.sampled) return;
    const { scope, name, kind = "internal" } = this.#start;
    this.#parts.finished({
      scope,
      name,
      kind,
      context: this.#context,
      parent: this.#parent,
      startWallMs: this.#startWallMs,
      endWallMs: this.#nowWallMs(),
      attributes: this.#attributes,
      events: this.#events,
      failure: this.#failure,
    });
  }

  #nowWallMs(): number {
    return this.#anchor.wallMs + this.#parts.clock.monotonicMs() - this.#anchor.monotonicMs;
  }
}

const remoteParent = ({ parent }: SpanStart): ParentContext | undefined =>
  parent === undefined || parent === "none" ? undefined : parseTraceparent(parent.traceparent, parent.tracestate);

/** A tracer that records spans for tests. Its ids count up, and every trace that begins here is sampled. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type FinishedSpan,
  type ParentContext,
  parseTraceparent,
  type SpanEvent,
  traceHeaders,
} from "../src/domain/tracing/trace-context.ts";
import type { Clock } from "../src/ports/clock.ts";
import type { Span, SpanStart, Tracer } from "../src/ports/tracer.ts";

type Kept = Span & { readonly context: FinishedSpan["context"] };

export class FakeTracer implements Tracer {
  /** In the order in which they ended. */
  readonly finished: FinishedSpan[] = [];
  readonly #clock: Clock;
  readonly #active = new AsyncLocalStorage<Kept>();
  #ids = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(start: SpanStart): Span {
    const parent = this.#parentOf(start);
    const { traceId = this.#id(32), sampled = true, traceState = "" } = parent ?? {};
    const context = { traceId, spanId: this.#id(16), sampled, traceState };
    const startWallMs = this.#clock.wallMs();
    let attributes: Attributes = start.attributes ?? {};
    const events: SpanEvent[] = [];
    let failure: string | undefined;
    let hasEnded = false;
    const span: Kept = {
      context,
      headers: traceHeaders(context),
      get failed() {
        return failure !== undefined;
      },
      set: (more) => {
        attributes = { ...attributes, ...more };
      },
      event: (name, details) => {
        events.push({ name, wallMs: this.#clock.wallMs(), attributes: details });
      },
      fail: (message, error) => {
        failure = message;
        if (error !== undefined)
          events.push({ name: "exception", wallMs: this.#clock.wallMs(), attributes: reported(error) });
      },
      end: () => {
        if (hasEnded || !sampled) return;
        hasEnded = true;
        const { scope, name, kind = "internal" } = start;
        const endWallMs = this.#clock.wallMs();
        this.finished.push({ scope, name, kind, context, parent, startWallMs, endWallMs, attributes, events, failure });
      },
    };
    return span;
  }

  within<T>(span: Span, run: () => T): T {
    return this.#active.run(span as Kept, run);
  }

  #parentOf({ parent }: SpanStart): ParentContext | undefined {
    if (parent === "none") return undefined;
    if (parent !== undefined) return parseTraceparent(parent.traceparent, parent.tracestate);
    const around = this.#active.getStore();
    return around === undefined ? undefined : { ...around.context, isRemote: false };
  }

  #id(length: number): string {
    this.#ids += 1;
    return this.#ids.toString(16).padStart(length, "0");
  }
}

const reported = (error: unknown): Attributes =>
  error instanceof Error
    ? { "exception.type": error.name, "exception.message": error.message }
    : { "exception.type": typeof error, "exception.message": String(error) };

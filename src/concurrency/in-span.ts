import { errorText } from "../base/error-text.ts";
import type { Span, SpanStart, Tracer } from "../ports/tracer.ts";

/** Runs `run` as a span that ends with it. What it throws fails the span, unless `run` has said itself why it failed. */
export function inSpan<T>(tracer: Tracer, start: SpanStart, run: (span: Span) => Promise<T>): Promise<T> {
  const span = tracer.begin(start);
  return tracer.within(span, async () => {
    try {
      return await run(span);
    } catch (error) {
      if (!span.failed) span.fail(errorText(error), error);
      throw error;
    } finally {
      span.end();
    }
  });
}

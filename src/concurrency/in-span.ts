import { errorText } from "../base/error-text.ts";
import type { Span, SpanStart, Tracer } from "../ports/tracer.ts";

/**
 * Runs `run` inside a span that ends with it. A thrown error fails the span, unless `run` has already called `fail`.
 */
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

/**
 * The span of one attempt of an API request, with the Go kubelet's names and attributes. Each attempt is its own trace.
 */
import { errorText } from "../../base/error-text.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import { noTracer, type Span, type SpanStart, type Tracer } from "../../ports/tracer.ts";

export interface TracedTry {
  /** The server's origin, without a trailing slash. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
}

/** `attempt` passes the status of the answer to `answered`. */
export function inRequestSpan<T>(
  tracer: Tracer,
  asked: TracedTry,
  attempt: (headers: Readonly<Record<string, string>>, answered: (status: number) => void) => Promise<T>,
): Promise<T> {
  // There are many requests: do not build spans that nobody exports.
  if (tracer === noTracer) return attempt({}, () => {});
  return inSpan(tracer, startOf(asked), async (span) => {
    try {
      return await attempt(span.headers, (status) => note(span, status));
    } catch (error) {
      if (!span.failed) {
        span.set({ "error.type": error instanceof Error ? error.name : typeof error });
        span.fail(errorText(error));
      }
      throw error;
    }
  });
}

function note(span: Span, status: number): void {
  span.set({ "http.response.status_code": status });
  if (status < 400) return;
  span.set({ "error.type": String(status) });
  span.fail("");
}

function startOf({ origin, method, path }: TracedTry): SpanStart {
  const { hostname, port } = new URL(origin);
  const attributes = {
    "http.request.method": method,
    "url.full": `${origin}${path}`,
    "server.address": hostname.replaceAll(/[[\]]/g, ""),
    "server.port": Number(port || 443),
    "network.protocol.version": "2",
  };
  return { scope: "deckhand/wire/kube-api", name: `HTTP ${method}`, kind: "client", attributes, parent: "none" };
}

/** One try of a request to the API server, as traces tell it: by the names and attributes that the Go kubelet gives. Each is a trace of its own. */
import { errorText } from "../../base/error-text.ts";
import { inSpan } from "../../concurrency/in-span.ts";
import { noTracer, type Span, type SpanStart, type Tracer } from "../../ports/tracer.ts";

export interface TracedTry {
  /** Of the server, without a slash at its end. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
}

/** `attempt` tells the status it was answered with to `answered`. */
export function inRequestSpan<T>(
  tracer: Tracer,
  asked: TracedTry,
  attempt: (headers: Readonly<Record<string, string>>, answered: (status: number) => void) => Promise<T>,
): Promise<T> {
  // There are many: what nobody wants is not put together.
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

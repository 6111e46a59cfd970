/**
 * Traces answered requests with the span names and attributes of the Go kubelet's server. Unauthorized requests are not
 * traced.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { TLSSocket } from "node:tls";
import type { Attributes } from "../domain/tracing/trace-context.ts";
import { noTracer, type SpanStart, type Tracer } from "../ports/tracer.ts";
import { HttpError, type Route } from "./route.ts";

const SCOPE = "deckhand/server";

export interface TracedRequest {
  readonly route: Pick<Route, "path">;
  readonly request: IncomingMessage;
  readonly response: Pick<ServerResponse, "statusCode" | "headersSent">;
  /**
   * Whether the client is authenticated. Trace headers of other clients are ignored: each of their requests starts its
   * own trace.
   */
  readonly isKnown: boolean;
}

/** Runs `answer` as a span, in the trace of the request's headers if there is one. */
export async function inRequestSpan(tracer: Tracer, asked: TracedRequest, answer: () => Promise<void>): Promise<void> {
  if (tracer === noTracer) return answer();
  const { response } = asked;
  const span = tracer.begin(startOf(asked));
  // The status of upgraded requests, for which nothing else is known.
  let status = 101;
  try {
    await tracer.within(span, answer);
    if (response.headersSent) status = response.statusCode;
  } catch (error) {
    status = error instanceof HttpError ? error.status : 500;
    throw error;
  } finally {
    span.set({ "http.response.status_code": status });
    if (status >= 500) span.fail("");
    span.end();
  }
}

function startOf({ route, request, isKnown }: TracedRequest): SpanStart {
  const name = namedAsUpstream(route.path);
  const { traceparent, tracestate } = request.headers;
  const brings = isKnown && typeof traceparent === "string";
  return {
    scope: SCOPE,
    name,
    kind: "server",
    attributes: { ...attributesOf(request), "http.route": name },
    parent: brings ? { traceparent, tracestate: String(tracestate ?? "") } : "none",
  };
}

const UPSTREAM_PARTS: Readonly<Record<string, string>> = {
  namespace: "podNamespace",
  pod: "podID",
  container: "containerName",
};

const namedAsUpstream = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_match, part: string) => `{${UPSTREAM_PARTS[part] ?? part}}`);

function attributesOf({ headers, method = "GET", url = "", socket, httpVersion }: IncomingMessage): Attributes {
  const port = /:(\d+)$/.exec(headers.host ?? "")?.[1];
  const peer = socket.remoteAddress;
  const forwarded = String(headers["x-forwarded-for"] ?? "")
    .split(",")[0]
    ?.trim();
  const client = forwarded || peer;
  const agent = headers["user-agent"];
  return {
    "server.address": "kubelet",
    "http.request.method": method,
    "url.scheme": socket instanceof TLSSocket ? "https" : "http",
    ...(port === undefined ? {} : { "server.port": Number(port) }),
    ...(peer === undefined ? {} : { "network.peer.address": peer }),
    ...(socket.remotePort === undefined ? {} : { "network.peer.port": socket.remotePort }),
    ...(agent === undefined ? {} : { "user_agent.original": agent }),
    ...(client === undefined ? {} : { "client.address": client }),
    // Without the query, which may contain secrets.
    "url.path": url.split("?")[0] ?? "",
    "network.protocol.version": httpVersion,
  };
}

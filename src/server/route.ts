/**
 * A route of the node's API. Clients are authenticated and authorized before a route is called; a route never decides
 * about access. An error that it throws becomes a 500 with the error's text, unless it is a `HttpError`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Subresource } from "../domain/server/node-request.ts";

export type { Subresource };

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** The configuration switch that disables the route, which then answers 405. "none": always enabled. */
export type RouteToggle = "none" | "debugging" | "profiling" | "debugFlags" | "systemLogs";

export interface RouteRequest {
  readonly request: IncomingMessage;
  /** The named parts of the path; what "*" matched is stored under "*", joined with slashes. */
  readonly parts: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Aborts when the client disconnects, when the request exceeds its time limit, or at shutdown. */
  readonly signal: AbortSignal;
}

export interface Route {
  /**
   * Literal parts, parts in braces, and optionally a final "*" for the rest:
   * "/containerLogs/{namespace}/{pod}/{container}", "/debug/pprof/*".
   */
  readonly path: string;
  readonly methods: readonly Method[];
  /** Node subresources, reviewed in this order; any of them grants access. */
  readonly subresources: readonly Subresource[];
  readonly switch: RouteToggle;
  /** Whether the read-only port, which does not authenticate, serves the route, too. */
  readonly readOnlyPort: boolean;
  /** Runs until the client disconnects: exempt from the usual response time limit. */
  readonly longRunning: boolean;
  answer(asked: RouteRequest, response: ServerResponse): Promise<void>;
  /** Handles upgrades. `head` holds the bytes received after the request. The route owns the socket from here on. */
  upgrade?(asked: RouteRequest, socket: Duplex, head: Uint8Array): Promise<void>;
}

/** An error response with its status and text. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  constructor(status: number, text: string, options?: ErrorOptions) {
    super(text, options);
    this.status = status;
  }
}

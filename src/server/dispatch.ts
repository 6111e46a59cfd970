/**
 * Dispatches requests to routes. No route runs before authentication and authorization, and the authorized path is the
 * routed path. Every request is answered once, counted once and logged once in the access log.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorText } from "../base/error-text.ts";
import { linkSignals } from "../concurrency/abort.ts";
import type { PathParts } from "../domain/server/node-request.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Tracer } from "../ports/tracer.ts";
import type { AccessLog } from "./access-log.ts";
import { type AuthenticationParts, authenticate } from "./authentication.ts";
import { type AuthorizationParts, authorize } from "./authorization.ts";
import type { ConnectionLimiter } from "./connection-limiter.ts";
import { type EndpointToggles, READ_ONLY, rejectDisabled } from "./endpoint-toggles.ts";
import { LIMITS } from "./limits.ts";
import { type RequestLine, requestLine, requireBodiless, requirePlain } from "./request-line.ts";
import { labelsOf, type RequestLabels, type RequestObserver } from "./request-observer.ts";
import { inRequestSpan } from "./request-span.ts";
import { redirect, sendText } from "./responses.ts";
import { HttpError, type Route, type RouteRequest } from "./route.ts";
import { forMethod, type Match, MethodNotAllowed, type Router, routeAt, SlashMissing } from "./router.ts";

export interface DispatchParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer: Tracer;
  readonly accessLog: AccessLog;
  readonly observer: RequestObserver;
  readonly router: Router;
  readonly toggles: EndpointToggles;
  /** Undefined on the read-only port, which does not authenticate. */
  readonly access:
    | { readonly authentication: AuthenticationParts; readonly authorization: AuthorizationParts }
    | undefined;
  readonly limiter: Pick<ConnectionLimiter, "markAuthenticated" | "markAuthorized">;
  /** Idle timeout of a stream. */
  readonly streamIdleMs: number;
  /** Maximum number of concurrent long-running requests. */
  readonly streamsMax: number;
}

/** The state of a request in progress, and its response. */
interface RequestContext {
  readonly request: IncomingMessage;
  /** Kept separately: a request whose body is not read to its end loses its socket. */
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly line: RequestLine;
  readonly labels: RequestLabels;
  user: string | undefined;
  /** Whether the client is authenticated and not anonymous. */
  isKnown: boolean;
  target: string | undefined;
  why: string | undefined;
}

type Require = (request: IncomingMessage, line: RequestLine) => PathParts;
type CarryOut = (route: Route, asked: RouteRequest) => Promise<void>;

export class Dispatch {
  readonly #parts: DispatchParts;
  readonly #shutdown: AbortSignal;
  readonly #pipelined = new WeakMap<Socket, number>();
  #streams = 0;

  constructor(parts: DispatchParts, shutdown: AbortSignal) {
    this.#parts = parts;
    this.#shutdown = shutdown;
  }

  /** Whether the request leaves HTTP. An upgrade offered to any other route is ignored. */
  wantsUpgrade(request: IncomingMessage): boolean {
    const { method, path } = requestLine(request);
    if (path === undefined) return false;
    return forMethod(this.#parts.router.at(path), method)?.route.upgrade !== undefined;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const waiting = this.#pipelined.get(socket) ?? 0;
    if (waiting >= LIMITS.pipelinedMax) {
      socket.destroy();
      return;
    }
    this.#pipelined.set(socket, waiting + 1);
    await this.#handle(request, response, requirePlain, async (route, asked) => {
      const limitMs = route.longRunning ? LIMITS.longAnswerMsMax : LIMITS.answerMsMax;
      using limited = linkSignals(asked.signal);
      const late = () => limited.abort(new HttpError(503, "no answer in time\n"));
      const cancel = this.#parts.clock.after(limitMs, late);
      try {
        await route.answer({ ...asked, signal: limited.signal }, response);
        if (!route.longRunning) await taken(request, response, limited.signal);
      } finally {
        cancel();
      }
    });
    this.#pipelined.set(socket, (this.#pipelined.get(socket) ?? 1) - 1);
  }

  async upgrade(request: IncomingMessage, head: Uint8Array): Promise<void> {
    const { socket } = request;
    const response = refusalResponse(request);
    await this.#handle(request, response, requireBodiless, async (route, asked) => {
      response.detachSocket(socket);
      const writtenBytes = socket.bytesWritten;
      socket.setTimeout(this.#parts.streamIdleMs, () => socket.destroy());
      try {
        await route.upgrade?.(asked, socket, head);
      } catch (error) {
        // Nothing was written since the upgrade, so an HTTP error response is still possible.
        if (!socket.destroyed && socket.bytesWritten === writtenBytes) response.assignSocket(socket);
        throw error;
      }
    });
  }

  async #handle(
    request: IncomingMessage,
    response: ServerResponse,
    require: Require,
    carryOut: CarryOut,
  ): Promise<void> {
    const { clock, observer, accessLog, access } = this.#parts;
    const line = requestLine(request);
    const labels = labelsOf(line.method, line.path, access === undefined ? "readonly" : "readwrite");
    const context: RequestContext = {
      request,
      socket: request.socket,
      response,
      line,
      labels,
      user: undefined,
      isKnown: false,
      target: undefined,
      why: undefined,
    };
    const startMs = clock.monotonicMs();
    const peer = context.socket.remoteAddress ?? "";
    observer.onAsked(labels);
    let status = 0;
    try {
      await this.#carriedOut(context, require, carryOut);
      status = response.socket === null && !response.headersSent ? 101 : response.statusCode;
    } catch (error) {
      status = this.#failed(error, context);
    } finally {
      const ms = clock.monotonicMs() - startMs;
      const { method, bucket } = labels;
      const { user, target, why } = context;
      observer.onAnswered({ ...labels, status, ms });
      accessLog.log({ method, bucket, status, ms, user, peer, target, why });
    }
  }

  async #carriedOut(context: RequestContext, require: Require, carryOut: CarryOut): Promise<void> {
    const { request, socket, line } = context;
    using gone = linkSignals(this.#shutdown);
    const leave = () => gone.abort(new Error("the client has left"));
    socket.once("close", leave);
    try {
      const path = require(request, line);
      await this.#admit(context, path, gone.signal);
      const { route, parts } = this.#matched(line, path);
      context.target = Object.values(parts).join("/") || undefined;
      const asked = { request, parts, query: new URLSearchParams(line.query), signal: gone.signal };
      const { tracer } = this.#parts;
      await this.#counted(route, () => inRequestSpan(tracer, { ...context, route }, () => carryOut(route, asked)));
    } finally {
      socket.off("close", leave);
    }
  }

  async #admit(context: RequestContext, path: PathParts, signal: AbortSignal): Promise<void> {
    const { access, limiter } = this.#parts;
    const { socket } = context;
    if (access === undefined) return limiter.markAuthorized(socket);
    const who = await authenticate(context.request, access.authentication, signal);
    if (who.kind !== "caller") {
      context.why = who.why;
      throw who.kind === "tooBusy" ? new HttpError(503, "Service Unavailable\n") : new HttpError(401, "Unauthorized");
    }
    const { caller, isAnonymous } = who;
    context.user = caller.name;
    context.isKnown = !isAnonymous;
    await authorize({ caller, method: context.line.method, path }, access.authorization, signal);
    // Only after authorization: every pod has a valid token, but no rights here.
    if (!isAnonymous) limiter.markAuthenticated(socket);
    limiter.markAuthorized(socket);
  }

  #matched({ method, endsInSlash }: RequestLine, path: PathParts): Match {
    const { router, access } = this.#parts;
    const toggles = access === undefined ? READ_ONLY : this.#parts.toggles;
    const isOpen = ({ switch: by, readOnlyPort }: Route) =>
      access === undefined ? readOnlyPort : toggles.debugging || by === "none";
    const place = { path, endsInSlash };
    const found = router.at(path);
    if (access !== undefined || !found.some(({ route }) => isOpen(route))) {
      rejectDisabled(place, found[0]?.route.switch, toggles);
    }
    return routeAt(router, place, method, isOpen);
  }

  async #counted({ longRunning }: Route, run: () => Promise<void>): Promise<void> {
    if (!longRunning) return run();
    if (this.#streams >= this.#parts.streamsMax) throw new HttpError(503, "too many streams\n");
    this.#streams += 1;
    try {
      await run();
    } finally {
      this.#streams -= 1;
    }
  }

  /** Answers with the error if that is still possible. Returns the response status; 0 if there is no response. */
  #failed(error: unknown, context: RequestContext): number {
    const { request, socket, response, labels, line } = context;
    const refusal = error instanceof HttpError ? error : undefined;
    if (refusal?.cause !== undefined) context.why = errorText(refusal.cause);
    if (socket.destroyed) return 0;
    if (refusal === undefined) this.#parts.log.error("A request was not answered", error, { path: labels.bucket });
    if (response.headersSent || response.socket === null) {
      socket.destroy();
      return response.headersSent ? response.statusCode : 0;
    }
    const status = refusal?.status ?? 500;
    if (error instanceof SlashMissing) {
      redirect(response, request.method, error.location + (line.query === "" ? "" : `?${line.query}`));
      return status;
    }
    sendText(response, status, errorText(error), {
      // Only a new handshake can present another certificate, and unauthenticated clients keep no connection.
      ...(status === 401 ? { Connection: "close" } : {}),
      ...(error instanceof MethodNotAllowed ? { Allow: error.allow } : {}),
    });
    return status;
  }
}

/** Waits until the response has been sent. A client that does not take it before the signal aborts is disconnected. */
async function taken({ socket }: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (response.writableFinished) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const cut = () => {
    socket.destroy();
    resolve();
  };
  response.once("finish", resolve);
  signal.addEventListener("abort", cut, { once: true });
  if (signal.aborted) cut();
  try {
    await promise;
  } finally {
    response.off("finish", resolve);
    signal.removeEventListener("abort", cut);
  }
}

/** Rejects an upgrade. The connection closes afterwards. */
function refusalResponse(request: IncomingMessage): ServerResponse {
  const { socket } = request;
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once("finish", () => {
    response.detachSocket(socket);
    socket.destroySoon();
  });
  socket.on("error", () => socket.destroy()); // The route sees the abort of its signal.
  return response;
}

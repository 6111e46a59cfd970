/**
 * The health endpoint: plain HTTP, by default on 127.0.0.1:10248. It answers "ok" while all checks pass. If the port is
 * taken, listening is retried every five seconds with one log line each time, for as long as the process runs. A client
 * that holds all connections locks nobody out: the oldest connection is evicted.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { errorText } from "../base/error-text.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { ConnectionLimiter } from "./connection-limiter.ts";
import { keepListening } from "./keep-listening.ts";
import { HEALTHZ_LIMITS, LIMITS } from "./limits.ts";
import { sendText } from "./responses.ts";

export interface HealthCheck {
  readonly name: string;
  /** Why the check fails; undefined if it passes. */
  check(): string | undefined;
}

export interface HealthzParts {
  readonly clock: Clock;
  readonly log: Log;
  /** In the order of the output. If empty, "ping" is used. */
  readonly checks: readonly HealthCheck[];
  /** Called with each address that is listened on; for port 0 with the port that the system chose. */
  readonly onListening?: (address: { readonly address: string; readonly port: number }) => void;
  /** Called after the first attempt to listen, successful or not, so that nobody waits longer for it. */
  readonly onTried?: () => void;
}

export type HealthzOptions =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly address: string; readonly port: number };

export const pingCheck: HealthCheck = { name: "ping", check: () => undefined };

/** Flushes the log: if the log blocks, the process blocks, and the check gets no answer. */
export const logCheck = (flush: () => void): HealthCheck => ({
  name: "log",
  check: () => {
    flush();
    return undefined;
  },
});

const SILENCE_MS_MIN = 300_000;

/** `lastTurnMs` returns the monotonic time of the loop's last turn; undefined before the first turn, which passes. */
export const syncLoopCheck = (
  clock: Pick<Clock, "monotonicMs">,
  syncEveryMs: number,
  lastTurnMs: () => number | undefined,
): HealthCheck => ({
  name: "syncloop",
  check: () => {
    const turnMs = lastTurnMs();
    const isLate = turnMs !== undefined && clock.monotonicMs() - turnMs > silenceMsMax(syncEveryMs);
    return isLate ? "sync Loop took longer than expected" : undefined;
  },
});

/** How long a loop may take no turn and still be healthy. */
export const silenceMsMax = (syncEveryMs: number): number => Math.max(2 * syncEveryMs, SILENCE_MS_MIN);

/** Ends only when the signal aborts. */
export async function runHealthz(options: HealthzOptions, parts: HealthzParts, shutdown: AbortSignal): Promise<void> {
  if (options.kind === "off") return parts.onTried?.();
  const again = { ...parts, failure: "Failed to start healthz server" };
  await keepListening(() => serve(options, parts, shutdown), again, shutdown);
}

/** Resolves when the signal aborts, or with the error that ended it. */
function serve(
  { address, port }: { readonly address: string; readonly port: number },
  parts: HealthzParts,
  shutdown: AbortSignal,
): Promise<Error | undefined> {
  const limiter = new ConnectionLimiter(HEALTHZ_LIMITS, parts.clock);
  const server = createServer(
    {
      headersTimeout: LIMITS.headersMsMax,
      requestTimeout: LIMITS.requestMsMax,
      maxHeaderSize: LIMITS.headerBytesMax,
      keepAliveTimeout: LIMITS.idleMsMax,
    },
    (request, response) => {
      answer(request, response, parts);
      limiter.markAuthorized(request.socket);
    },
  );
  server.on("connection", (socket) => limiter.admit(socket));
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  const stop = () => void close(server).then(() => resolve(undefined));
  server.once("error", (error) => {
    parts.onTried?.();
    resolve(error);
  });
  server.listen({ host: address, port }, () => {
    const bound = server.address();
    if (typeof bound === "object" && bound !== null) parts.onListening?.(bound);
    parts.onTried?.();
  });
  shutdown.addEventListener("abort", stop, { once: true });
  return promise.finally(() => shutdown.removeEventListener("abort", stop));
}

function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  return promise;
}

function answer(request: IncomingMessage, response: ServerResponse, { checks, log }: HealthzParts): void {
  const url = URL.parse(request.url ?? "/", "http://healthz");
  if (url === null) return sendText(response, 400, "400 Bad Request\n");
  const all = checks.length === 0 ? [pingCheck] : checks;
  if (url.pathname === "/healthz") return sendAll(url.searchParams, response, all, log);
  const single = all.find(({ name }) => url.pathname === `/healthz/${name}`);
  if (single === undefined) return sendText(response, 404, "404 page not found\n");
  return sendOne(response, single);
}

export function sendOne(response: ServerResponse, check: HealthCheck): void {
  const fault = faultOf(check);
  if (fault === undefined) return sendText(response, 200, "ok");
  return sendText(response, 500, `internal server error: ${fault}\n`);
}

/** The reason of a failure goes to the log only: anyone on the machine can query this endpoint. */
export function sendAll(
  query: URLSearchParams,
  response: ServerResponse,
  checks: readonly HealthCheck[],
  log: Log,
): void {
  const excluded = new Set(query.getAll("exclude"));
  const failed: { readonly name: string; readonly fault: string }[] = [];
  const lines = checks.map((check) => {
    const { name } = check;
    if (excluded.delete(name)) return `[+]${name} excluded: ok\n`;
    const fault = faultOf(check);
    if (fault === undefined) return `[+]${name} ok\n`;
    failed.push({ name, fault });
    return `[-]${name} failed: reason withheld\n`;
  });
  if (excluded.size > 0) {
    const names = [...excluded].toSorted().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(",")}\n`);
  }
  if (failed.length > 0) {
    log.info(2, "healthz check failed", { checks: failed });
    return sendText(response, 500, `${lines.join("")}healthz check failed\n`);
  }
  return sendText(response, 200, query.has("verbose") ? `${lines.join("")}healthz check passed\n` : "ok");
}

/** A check that throws fails. */
function faultOf(check: HealthCheck): string | undefined {
  try {
    return check.check();
  } catch (error) {
    return errorText(error);
  }
}

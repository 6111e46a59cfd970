/**
 * Plain HTTP on 127.0.0.1:10248: "ok" while every check passes. A port that is taken costs a line in the log every five seconds
 * and nothing else: the listener is tried again for as long as the process runs. Who holds all its connections keeps nobody out: the oldest goes.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { errorText } from "../base/error-text.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { sendText } from "./answers.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { keepListening } from "./keep-listening.ts";
import { HEALTHZ_LIMITS, LIMITS } from "./limits.ts";

export interface HealthCheck {
  readonly name: string;
  /** Why it is not well; undefined when it is. */
  check(): string | undefined;
}

export interface HealthzParts {
  readonly clock: Clock;
  readonly log: Log;
  /** In the order in which they are listed. Without any, "ping" is there. */
  readonly checks: readonly HealthCheck[];
  /** Told of each address that is listened on; with port 0 given to the system, its choice. */
  readonly onListening?: (address: { readonly address: string; readonly port: number }) => void;
  /** Told when it listens, or could not for now: nobody waits longer for it. */
  readonly onTried?: () => void;
}

export type HealthzOptions =
  | { readonly kind: "off" }
  | { readonly kind: "on"; readonly address: string; readonly port: number };

export const pingCheck: HealthCheck = { name: "ping", check: () => undefined };

/** Written out as far as it goes; a log that blocks blocks us, and nobody is answered. */
export const logCheck = (flush: () => void): HealthCheck => ({
  name: "log",
  check: () => {
    flush();
    return undefined;
  },
});

const SILENCE_MS_MIN = 300_000;

/** A loop says when it last took a turn, by the monotonic clock; one that has not begun yet says nothing. */
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

/** How long a loop may be silent and still count as well. */
export const silenceMsMax = (syncEveryMs: number): number => Math.max(2 * syncEveryMs, SILENCE_MS_MIN);

/** Ends only by its signal. */
export async function runHealthz(options: HealthzOptions, parts: HealthzParts, shutdown: AbortSignal): Promise<void> {
  if (options.kind === "off") return parts.onTried?.();
  const again = { ...parts, failure: "Failed to start healthz server" };
  await keepListening(() => serve(options, parts, shutdown), again, shutdown);
}

/** Until the signal, or the error that ended it. */
function serve(
  { address, port }: { readonly address: string; readonly port: number },
  parts: HealthzParts,
  shutdown: AbortSignal,
): Promise<Error | undefined> {
  const doorkeeper = new Doorkeeper(HEALTHZ_LIMITS, parts.clock);
  const server = createServer(
    {
      headersTimeout: LIMITS.headersMsMax,
      requestTimeout: LIMITS.requestMsMax,
      maxHeaderSize: LIMITS.headerBytesMax,
      keepAliveTimeout: LIMITS.idleMsMax,
    },
    (request, response) => {
      answer(request, response, parts);
      doorkeeper.letIn(request.socket);
    },
  );
  server.on("connection", (socket) => doorkeeper.admit(socket));
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

/** Why a check failed goes to the log only: anybody on the machine can ask here. */
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

/** A check that throws is not well. */
function faultOf(check: HealthCheck): string | undefined {
  try {
    return check.check();
  } catch (error) {
    return errorText(error);
  }
}

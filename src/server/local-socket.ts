/**
 * Answers the commands of this machine's operator over a Unix socket: HTTP/1.1, GET only. Only the agent's user can
 * connect: the socket has mode 0600. It serves reports and changes nothing. The caller holds the lock of the root
 * directory, so a socket that exists already belongs to an agent that has died, and is replaced.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { errorText } from "../base/error-text.ts";
import { withDeadline } from "../concurrency/deadline.ts";
import type { Clock } from "../ports/clock.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { Log } from "../ports/log.ts";
import { keepListening } from "./keep-listening.ts";
import { LIMITS } from "./limits.ts";
import { sendJson, sendText } from "./responses.ts";
import { HttpError } from "./route.ts";

export interface LocalRoute {
  readonly path: string;
  /** Returns what is sent as JSON. Throws an HttpError when the request cannot be answered as it is. */
  answer(query: URLSearchParams, signal: AbortSignal): Promise<object>;
}

export interface LocalSocketParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Pick<HostFiles, "removeFile" | "setMode">;
  readonly routes: readonly LocalRoute[];
}

export const localSocketPath = (rootDir: string): string => `${rootDir}/deckhand/control.sock`;

const SOCKET_MODE = 0o600;
/** The kernel's limit of the path of a Unix socket, without the byte that ends it. */
const PATH_BYTES_MAX = 107;
const CONNECTIONS_MAX = 16;

/** Undefined if a socket can have this path. */
export const socketPathFault = (path: string): string | undefined => {
  const bytes = Buffer.byteLength(path);
  return bytes > PATH_BYTES_MAX
    ? `${path} has ${bytes} bytes, a socket's path at most ${PATH_BYTES_MAX}; use a shorter --root-dir`
    : undefined;
};

/** Ends only when the signal aborts. Without the socket the agent works all the same. */
export async function runLocalSocket(path: string, parts: LocalSocketParts, shutdown: AbortSignal): Promise<void> {
  const failure = "Failed to listen on the local socket; commands that ask the agent do not work";
  const fault = socketPathFault(path);
  if (fault !== undefined) {
    parts.log.error(failure, new Error(fault), { path });
    return;
  }
  await keepListening(() => listen(path, parts, shutdown), { ...parts, failure }, shutdown);
}

/** Resolves when the signal aborts, or with the error that ended it. */
async function listen(path: string, parts: LocalSocketParts, shutdown: AbortSignal): Promise<Error | undefined> {
  const { files, log } = parts;
  const server = createServer(
    {
      headersTimeout: LIMITS.headersMsMax,
      requestTimeout: LIMITS.requestMsMax,
      maxHeaderSize: LIMITS.headerBytesMax,
      keepAliveTimeout: LIMITS.idleMsMax,
    },
    (request, response) => void answer(request, response, parts, shutdown),
  );
  server.maxConnections = CONNECTIONS_MAX;
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  const stop = () => resolve(undefined);
  shutdown.addEventListener("abort", stop, { once: true });
  if (shutdown.aborted) stop();
  server.once("error", resolve);
  try {
    await files.removeFile(path);
    server.listen({ path }, () => {
      files.setMode(path, SOCKET_MODE).then(() => log.info(2, "Listening on the local socket", { path }), resolve);
    });
    return await promise;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    shutdown.removeEventListener("abort", stop);
    await close(server);
  }
}

/** Node removes the socket, too. */
function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  return promise;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { clock, log, routes }: LocalSocketParts,
  shutdown: AbortSignal,
): Promise<void> {
  const url = URL.parse(request.url ?? "/", "http://deckhand");
  const route = routes.find(({ path }) => path === url?.pathname);
  if (url === null || route === undefined) return sendText(response, 404, "404 page not found\n");
  if (request.method !== "GET") return sendText(response, 405, "405 method not allowed\n");
  try {
    const found = await withDeadline(clock, LIMITS.answerMsMax, shutdown, (signal) =>
      route.answer(url.searchParams, signal),
    );
    sendJson(response, `${JSON.stringify(found)}\n`);
  } catch (error) {
    if (shutdown.aborted) return;
    if (error instanceof HttpError) return sendText(response, error.status, `${error.message}\n`);
    log.error("Failed to answer a request on the local socket", error, { route: route.path });
    sendText(response, 500, `${errorText(error)}\n`);
  }
}

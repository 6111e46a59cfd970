/**
 * Serves the node's API over TLS with HTTP/1.1 only, or in plain text for the read-only port. A changed serving
 * certificate or client CA applies to new connections; open ones remain. Without a certificate every handshake fails.
 */
import {
  createServer as createHttp,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createHttps, type Server as HttpsServer } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import { errorText } from "../base/error-text.ts";
import { linkSignals } from "../concurrency/abort.ts";
import type { Latest } from "../concurrency/latest-cell.ts";
import { onChange } from "../concurrency/on-change.ts";
import { TokenBucket } from "../concurrency/token-bucket.ts";
import type { ServingCertificate } from "../domain/identity/certificate-pair.ts";
import { MisconfigurationError } from "../domain/misconfiguration.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ConnectionLimiter } from "./connection-limiter.ts";
import type { Dispatch } from "./dispatch.ts";
import { keepListening } from "./keep-listening.ts";
import { LIMITS } from "./limits.ts";

export interface ListenerOptions {
  readonly address: string;
  readonly port: number;
  /** Undefined: plain text. */
  readonly tls: TlsParts | undefined;
  /** An address that cannot be listened on ends the agent. Otherwise listening is retried. */
  readonly failureIsFatal: boolean;
}

/** TLS settings of the server, in OpenSSL's notation. */
interface TlsSettings {
  readonly minVersion: "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
  /** Separated by colons; TLS 1.3 suites are always included. */
  readonly ciphers: string;
  /** Separated by colons, in order of preference; "auto" leaves the choice to OpenSSL. */
  readonly curves: string;
}

export interface TlsParts {
  readonly settings: TlsSettings;
  readonly certificate: Latest<ServingCertificate | undefined>;
  readonly clientCa: Latest<string | undefined>;
}

export interface ListenerParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly limiter: ConnectionLimiter;
  readonly dispatch: Dispatch;
  readonly onListening?: (address: { readonly address: string; readonly port: number }) => void;
}

/** Connections queued in the kernel; capped by net.core.somaxconn. */
const BACKLOG_MAX = 4096;
/** How often connections are checked against their time limits. */
const CHECK_EVERY_MS = 1_000;
/** Rate limit for logging failed accepts. */
const ACCEPT_FAILURES = { perSecond: 0.2, burst: 5 } as const;

/** Ends only when the signal aborts, or rejects with `failureIsFatal`. */
export async function runListener(
  options: ListenerOptions,
  parts: ListenerParts,
  shutdown: AbortSignal,
): Promise<void> {
  const failure = "Failed to listen and serve";
  if (!options.failureIsFatal) {
    return keepListening(() => listen(options, parts, shutdown), { ...parts, failure }, shutdown);
  }
  const error = await listen(options, parts, shutdown);
  if (error !== undefined && !shutdown.aborted) throw new MisconfigurationError(`${failure}: ${errorText(error)}`);
}

/** Resolves when the signal aborts, or with the error that ended it. */
async function listen(
  { address, port, tls }: ListenerOptions,
  parts: ListenerParts,
  shutdown: AbortSignal,
): Promise<Error | undefined> {
  const { log, limiter } = parts;
  using life = linkSignals(shutdown);
  const server = tls === undefined ? createHttp(httpOptions(parts)) : createTlsServer(tls, parts, life.signal);
  serve(server, parts);
  // Connections are accepted here and passed to the HTTP server, so that a rejected connection costs no handshake. The
  // HTTP server itself never listens, but the event makes it enforce its time limits on slow clients.
  const listener = createServer({ noDelay: true }, (socket) => {
    if (limiter.admit(socket)) server.emit("connection", socket);
  });
  server.emit("listening");
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  const stop = () => listener.close(() => resolve(undefined));
  onListenerError(listener, parts, resolve);
  listener.listen({ host: address, port, backlog: BACKLOG_MAX }, () => {
    const bound = listener.address();
    if (typeof bound !== "object" || bound === null) return;
    log.info(0, tls === undefined ? "Starting to listen read-only" : "Starting to listen", { ...bound });
    parts.onListening?.(bound);
  });
  shutdown.addEventListener("abort", stop, { once: true });
  if (shutdown.aborted) stop();
  const abortedByNow = () => limiter.closeAll();
  shutdown.addEventListener("abort", abortedByNow, { once: true });
  try {
    return await promise;
  } finally {
    shutdown.removeEventListener("abort", stop);
    shutdown.removeEventListener("abort", abortedByNow);
    listener.close();
    limiter.closeAll();
    server.close();
    life.abort(new Error("no longer listening"));
  }
}

/** A single failed accept, for example for lack of file descriptors, does not end the listener. */
function onListenerError(listener: Server, { clock, log }: ListenerParts, notListening: (error: Error) => void): void {
  const note = new TokenBucket(clock, ACCEPT_FAILURES);
  listener.on("error", (error) => {
    if (!listener.listening) notListening(error);
    else if (note.tryTake()) log.error("Failed to accept a connection", error);
  });
}

const httpOptions = ({ dispatch }: ListenerParts) => ({
  maxHeaderSize: LIMITS.headerBytesMax,
  headersTimeout: LIMITS.headersMsMax,
  requestTimeout: LIMITS.requestMsMax,
  keepAliveTimeout: LIMITS.idleMsMax,
  connectionsCheckingInterval: CHECK_EVERY_MS,
  insecureHTTPParser: false,
  shouldUpgradeCallback: (request: IncomingMessage) => dispatch.wantsUpgrade(request),
});

function createTlsServer(tls: TlsParts, parts: ListenerParts, signal: AbortSignal): HttpsServer {
  const server = createHttps({
    ...httpOptions(parts),
    ...contextOf(tls),
    ALPNProtocols: ["http/1.1"],
    requestCert: true,
    rejectUnauthorized: false, // Every request is authenticated; the certificate may not be its only credential.
    handshakeTimeout: LIMITS.handshakeMsMax,
  });
  const swap = () => {
    try {
      server.setSecureContext(contextOf(tls));
    } catch (error) {
      parts.log.error("Failed to serve the new certificate; the previous one stays in use", error);
    }
  };
  void onChange(tls.certificate, swap, signal);
  void onChange(tls.clientCa, swap, signal);
  // Normal network noise: scanners, or clients that do not trust our certificate. Logged only at verbosity 4.
  server.on("tlsClientError", (error, socket) => {
    parts.log.info(4, "http: TLS handshake error", { peer: socket.remoteAddress, err: errorText(error) });
  });
  return server;
}

function contextOf({ settings, certificate, clientCa }: TlsParts): SecureContextOptions {
  const { minVersion, ciphers, curves } = settings;
  const shown = certificate.value;
  return {
    minVersion,
    ciphers,
    ecdhCurve: curves,
    honorCipherOrder: true,
    allowPartialTrustChain: true,
    // Must not be undefined: OpenSSL would then trust the public CAs.
    ca: clientCa.value ?? [],
    ...(shown === undefined ? {} : { cert: shown.certificatePem, key: shown.keyPem }),
  };
}

function serve(server: HttpServer, { clock, dispatch, log }: ListenerParts): void {
  server.maxHeadersCount = LIMITS.headersMax + 1; // One more than allowed, so that the excess is detected.
  // Read the socket first: a request whose body is not read to its end loses it.
  const failed = ({ socket }: IncomingMessage) => {
    return (error: unknown) => {
      log.error("A request was not answered", error);
      socket.destroy();
    };
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    boundBody(clock, request, response);
    const onFailure = failed(request);
    dispatch.answer(request, response).catch(onFailure);
  });
  server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    // While a request body is still arriving, `stream` is a separate object. Without a listener its error would end the
    // process.
    const { socket } = request;
    stream.on("error", () => socket.destroy());
    const onFailure = failed(request);
    dispatch.upgrade(request, head).catch(onFailure);
  });
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response); // No 100 Continue: authenticate and answer the request first.
  });
  server.on("clientError", (error: Error & { readonly code?: string }, socket: Socket) => {
    if (!socket.writable || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    const status = error.code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request";
    const answer = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n${status}`;
    socket.end(answer, () => socket.destroy());
  });
}

/** A client that still sends after its response gets `leftoverMsMax` to finish. */
function boundBody(clock: Clock, request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  response.once("finish", () => {
    if (request.complete) return;
    clock.after(LIMITS.leftoverMsMax, () => {
      if (!request.complete) socket.destroy();
    });
  });
}

/**
 * Connects to the runtime's streaming server and upgrades the connection. Only a server on this machine is dialled, and
 * redirects are never followed. Only the upgrade headers of the client's request are forwarded, never its credentials.
 */
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import type { Duplex } from "node:stream";
import { withDeadline } from "../../concurrency/deadline.ts";
import type { Clock } from "../../ports/clock.ts";
import { RUNTIME_REFUSAL_BYTES_MAX } from "../limits.ts";
import { offeredProtocols } from "./websocket/handshake.ts";

const DIAL_MS_MAX = 30_000;
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/;
const PASSED_ON = [
  "connection",
  "upgrade",
  "origin",
  "x-stream-protocol-version",
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
] as const;

export interface Upgraded {
  readonly kind: "upgraded";
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly headers: IncomingHttpHeaders;
}

export type Dialled =
  | Upgraded
  /** The server answered with HTTP instead of an upgrade. Its connection is closed. */
  | { readonly kind: "refused"; readonly status: number; readonly body: Buffer };

export interface DialOptions {
  readonly url: string;
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
}

/** The upgrade headers of the client's request, to be forwarded. */
export function upgradeHeaders(asked: IncomingMessage): OutgoingHttpHeaders {
  const given = PASSED_ON.flatMap((name) => {
    const values = asked.headersDistinct[name];
    return values === undefined ? [] : [[name, values] as const];
  });
  const protocols = offeredProtocols(asked);
  const named = protocols.length === 0 ? {} : { "sec-websocket-protocol": protocols.join(", ") };
  return { ...Object.fromEntries(given), ...named };
}

export function dialRuntime(options: DialOptions, clock: Clock, signal: AbortSignal): Promise<Dialled> {
  return withDeadline(clock, DIAL_MS_MAX, signal, (limited) => dial(options, limited));
}

async function dial({ url, method, headers }: DialOptions, signal: AbortSignal): Promise<Dialled> {
  const target = URL.parse(url);
  if (target?.protocol !== "http:") throw new Error("the runtime's streaming server has no plain HTTP address");
  if (!LOOPBACK.test(target.hostname)) throw new Error("the runtime's streaming server is not on this machine");
  const { promise, resolve, reject } = Promise.withResolvers<Dialled>();
  const call = request(target, { method, headers, agent: false, signal });
  call.on("upgrade", ({ headers: answered }, socket, head) => {
    socket.pause();
    resolve({ kind: "upgraded", socket, head, headers: answered });
  });
  call.on("response", (response) => {
    body(response).then(
      (bytes) => resolve({ kind: "refused", status: response.statusCode ?? 500, body: bytes }),
      reject,
    );
  });
  call.on("error", (error) =>
    reject(signal.aborted ? signal.reason : new Error(`error dialing backend: ${error.message}`, { cause: error })),
  );
  call.end();
  return promise;
}

async function body(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes > RUNTIME_REFUSAL_BYTES_MAX) break;
  }
  response.destroy();
  return Buffer.concat(parts).subarray(0, RUNTIME_REFUSAL_BYTES_MAX);
}

/**
 * /portForward: many connections to ports of a pod over one stream. Clients that can only open WebSockets tunnel their
 * SPDY bytes inside one ("SPDY/3.1+portforward.k8s.io"); the bytes are unwrapped and forwarded.
 */
import type { IncomingMessage } from "node:http";
import { fullNameOf } from "../../domain/pod/pod-identity.ts";
import { HttpError, type Route, type RouteRequest } from "../route.ts";
import { dialRuntime } from "./dial-runtime.ts";
import { findPod, hasUid, podParts, runningSandbox } from "./find-container.ts";
import { proxyStreams } from "./proxy-streams.ts";
import { pipeToRuntime, upgraded } from "./raw-pipe.ts";
import { withHttpError } from "./runtime-http-error.ts";
import { type Leaving, type StreamParts, type StreamTarget, streamRoutes } from "./stream-parts.ts";
import { WebSocketBytes } from "./websocket/bytes.ts";
import { acceptance, isWebSocketRequest, offeredProtocols } from "./websocket/handshake.ts";

const TUNNEL_PREFIX = "SPDY/3.1+";

export const portForwardRoutes = (parts: StreamParts): readonly Route[] =>
  streamRoutes(parts, {
    verb: "portForward",
    path: "/portForward/{namespace}/{pod}",
    find: (asked) => {
      const ports = isTunnel(parts, asked.request) ? [] : askedPorts(asked);
      const names = podParts(asked.parts);
      const found = findPod(parts.known, names);
      if (!hasUid(parts.known, found, names.uid)) throw new HttpError(404, "pod not found");
      const sandbox = runningSandbox(parts.known, found);
      if (sandbox === undefined) throw new HttpError(500, `pod not found (${JSON.stringify(fullNameOf(found.pod))})`);
      return { podUid: found.uid, url: (signal) => parts.runtime.portForward(sandbox, ports, signal) };
    },
    carry: (target, leaving) => carry(parts, target, leaving),
  });

async function carry(parts: StreamParts, target: StreamTarget, leaving: Leaving): Promise<void> {
  const url = await withHttpError(target.url(leaving.session.cut));
  if (!isTunnel(parts, leaving.asked.request)) return pipeToRuntime(url, leaving, parts);
  parts.sessions.webSocketAsked("portForward");
  leaving.session.carried = "tunnelled";
  await tunnel(url, parts, leaving);
}

async function tunnel(url: string, { clock }: StreamParts, { asked, socket, session }: Leaving): Promise<void> {
  const { request } = asked;
  const inside = tunnelled(request);
  // Before dialling: rejects a request that is not a valid WebSocket handshake.
  acceptance(request, undefined);
  const headers = {
    connection: "Upgrade",
    upgrade: "SPDY/3.1",
    "x-stream-protocol-version": [...inside],
    "content-length": "0",
  };
  const dialled = upgraded(await dialRuntime({ url, method: "POST", headers }, clock, session.cut));
  const agreed = dialled.headers["x-stream-protocol-version"];
  socket.write(acceptance(request, typeof agreed === "string" ? `${TUNNEL_PREFIX}${agreed}` : undefined));
  if (dialled.head.length > 0) dialled.socket.unshift(dialled.head);
  await proxyStreams({ client: new WebSocketBytes(socket), runtime: dialled.socket, session, clock });
}

const isTunnel = ({ webSockets }: StreamParts, request: IncomingMessage): boolean =>
  webSockets && isWebSocketRequest(request) && tunnelled(request).length > 0;

const tunnelled = (request: IncomingMessage): readonly string[] =>
  offeredProtocols(request)
    .filter((protocol) => protocol.startsWith(TUNNEL_PREFIX) && protocol.endsWith(".k8s.io"))
    .map((protocol) => protocol.slice(TUNNEL_PREFIX.length));

/**
 * In SPDY each connection names its port. A WebSocket that the runtime itself speaks must name all ports in the query.
 */
function askedPorts({ request, query }: RouteRequest): readonly number[] {
  if (!isWebSocketRequest(request)) return [];
  const texts = query.getAll("port");
  if (texts.length === 0) throw new HttpError(400, 'query parameter "port" is required');
  return texts.flatMap((text) => {
    if (text === "") throw new HttpError(400, 'query parameter "port" cannot be empty');
    return text.split(",").map((one) => parsePort(one, text));
  });
}

function parsePort(one: string, text: string): number {
  const port = /^\d+$/.test(one) ? Number(one) : Number.NaN;
  const quoted = JSON.stringify(text);
  if (Number.isNaN(port)) {
    const why = `strconv.ParseUint: parsing ${JSON.stringify(one)}: invalid syntax`;
    throw new HttpError(400, `unable to parse ${quoted} as a port: ${why}`);
  }
  if (port > 65_535) {
    const why = `strconv.ParseUint: parsing ${JSON.stringify(one)}: value out of range`;
    throw new HttpError(400, `unable to parse ${quoted} as a port: ${why}`);
  }
  if (port < 1) throw new HttpError(400, `port ${quoted} must be > 0`);
  return port;
}

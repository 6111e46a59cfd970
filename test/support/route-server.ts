/** A minimal server that dispatches requests to routes by their patterns, without authentication or authorization. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import { HttpError, type Route, type RouteRequest } from "../../src/server/route.ts";

export interface RouteServer {
  readonly port: number;
  /** One promise per upgraded request. It resolves when the request ends; a route's error is answered on the socket. */
  readonly upgrades: readonly Promise<void>[];
  readonly shutdown: AbortController;
}

export async function routeServer(t: TestContext, routes: readonly Route[]): Promise<RouteServer> {
  const shutdown = new AbortController();
  const upgrades: Promise<void>[] = [];
  const server = createServer((request, response) => {
    const { route, asked } = find(routes, request, shutdown.signal);
    (route?.answer(asked, response) ?? Promise.reject(new HttpError(404, "no route"))).catch((error: unknown) => {
      response.writeHead(error instanceof HttpError ? error.status : 500).end((error as Error).message);
    });
  });
  server.on("upgrade", (request, socket: Duplex, head) => {
    const { route, asked } = find(routes, request, shutdown.signal);
    const carried = route?.upgrade?.(asked, socket, head) ?? Promise.reject(new HttpError(404, "no route"));
    upgrades.push(carried.catch((error: unknown) => refuse(error, socket)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    shutdown.abort(new Error("the test has ended"));
    server.closeAllConnections();
    server.close();
    await Promise.all(upgrades);
  });
  return { port: (server.address() as AddressInfo).port, upgrades, shutdown };
}

function refuse(error: unknown, socket: Duplex): void {
  if (socket.destroyed) return;
  const text = (error as Error).message;
  const status = error instanceof HttpError ? error.status : 500;
  socket.end(`HTTP/1.1 ${status} X\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function find(routes: readonly Route[], request: IncomingMessage, signal: AbortSignal) {
  const url = new URL(request.url ?? "/", "http://node");
  const path = url.pathname.split("/");
  let parts: Record<string, string> = {};
  const route = routes.find((one) => {
    const pattern = one.path.split("/");
    parts = {};
    return (
      pattern.length === path.length &&
      pattern.every((part, index) => {
        if (!part.startsWith("{")) return part === path[index];
        parts[part.slice(1, -1)] = decodeURIComponent(path[index] ?? "");
        return true;
      })
    );
  });
  const asked: RouteRequest = { request, parts, query: url.searchParams, signal };
  return { route, asked };
}

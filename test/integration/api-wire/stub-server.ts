/**
 * A small HTTP/2 server for what the API server cannot be made to do on demand: refuse a stream, send GOAWAY in the
 * middle of a request, respond with invalid data. It presents the certificate of the cluster's API server.
 */
import { readFile } from "node:fs/promises";
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  type Settings,
} from "node:http2";
import type { TestContext } from "node:test";
import { pki } from "../../cluster/certificates.ts";
import type { Cluster } from "../../cluster/cluster.ts";

/** `turn` is the number of the request, from 1. */
export type Handler = (stream: ServerHttp2Stream, turn: number, headers: IncomingHttpHeaders) => void;

export interface StubServer {
  readonly url: string;
  /** Numbers of requests and connections so far. */
  readonly requests: number;
  readonly connections: number;
}

export async function stubServer(
  t: TestContext,
  cluster: Cluster,
  handler: Handler,
  settings: Settings = {},
): Promise<StubServer> {
  const [cert, key] = await Promise.all(
    ["apiserver.crt", "apiserver.key"].map((file) => readFile(pki(cluster.layout, file))),
  );
  const server: Http2SecureServer = createSecureServer({ ...(cert && key ? { cert, key } : {}), settings });
  let requests = 0;
  let connections = 0;
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    connections += 1;
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.on("sessionError", () => {}); // Clients close their sessions while the server still uses them.
  server.on("stream", (stream, headers) => {
    requests += 1;
    stream.on("error", () => {});
    handler(stream as ServerHttp2Stream, requests, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  return {
    url: `https://127.0.0.1:${port}`,
    get requests() {
      return requests;
    },
    get connections() {
      return connections;
    },
  };
}

export function answer(
  stream: ServerHttp2Stream,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  stream.respond({ ":status": status, "content-type": "application/json", ...headers });
  stream.end(typeof body === "string" ? body : JSON.stringify(body));
}

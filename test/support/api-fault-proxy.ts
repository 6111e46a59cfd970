/**
 * A proxy between a node agent and the API server that fails or delays chosen requests. It terminates TLS and HTTP/2
 * and authenticates to the API server as the front proxy does, with the node's user name and group in headers. So the
 * API server authorizes, restricts and audits the node as if it had connected directly. The proxy runs in the test's
 * process.
 */
import { readFile } from "node:fs/promises";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { issueServingCertificate, pki, writeKubeconfig } from "../cluster/certificates.ts";
import type { Cluster, ClusterNode } from "../cluster/cluster.ts";

/** A status replaces the API server's response; a delay precedes it. */
export type ApiFault =
  | { readonly kind: "status"; readonly status: number; readonly retryAfterSeconds?: number }
  | { readonly kind: "delay"; readonly delayMs: number };

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly atMs: number;
  readonly fault: ApiFault | undefined;
}

const NO_CONTENT = new Set(["GET", "HEAD"]);
const REASONS: Readonly<Record<number, string>> = {
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

export class ApiFaultProxy {
  /** All requests since the start, in order of arrival. */
  readonly requests: ProxiedRequest[] = [];
  /** Called for each request. Returns the fault to inject, or undefined to forward the request. */
  faultOf: (method: string, path: string) => ApiFault | undefined = () => undefined;
  readonly #server: Http2SecureServer;
  readonly #user: string;
  readonly #connectUpstream: () => ClientHttp2Session;
  readonly #sessions = new Set<ServerHttp2Session>();
  #upstream: ClientHttp2Session | undefined;

  private constructor(server: Http2SecureServer, user: string, connectUpstream: () => ClientHttp2Session) {
    this.#server = server;
    this.#user = user;
    this.#connectUpstream = connectUpstream;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
    });
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      stream.on("error", () => {}); // A client that reset the stream does not wait for a response.
      void this.#handle(stream, headers);
    });
  }

  /** Writes a kubeconfig that points at the proxy, and returns its path. */
  static async start(cluster: Cluster, node: ClusterNode): Promise<{ proxy: ApiFaultProxy; kubeconfig: string }> {
    const { layout } = cluster;
    const serving = await issueServingCertificate(layout, `api-proxy-${node.name}`, layout.machineAddress);
    const file = (path: string) => readFile(path, "utf8");
    const server = createSecureServer({ cert: await file(serving.certFile), key: await file(serving.keyFile) });
    const upstream = {
      ca: await file(cluster.api.caFile),
      cert: await file(pki(layout, "front-proxy-client.crt")),
      key: await file(pki(layout, "front-proxy-client.key")),
    };
    const proxy = new ApiFaultProxy(server, `system:node:${node.name}`, () => connect(cluster.api.url, upstream));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, layout.machineAddress, resolve);
    });
    const { port } = server.address() as AddressInfo;
    const kubeconfig = join(node.directory, "api-proxy.kubeconfig");
    // The certificate authority of the API server also signed the proxy's certificate. The proxy requests no client
    // certificate.
    const client = {
      certFile: pki(layout, `kubelet-${node.name}.crt`),
      keyFile: pki(layout, `kubelet-${node.name}.key`),
    };
    await writeKubeconfig({ ...layout, apiUrl: `https://${layout.machineAddress}:${port}` }, kubeconfig, client);
    return { proxy, kubeconfig };
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#upstream?.destroy();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  /** Closes every connection of the agent, and with them its watches. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
  }

  async #handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const [method, path] = [String(headers[":method"]), String(headers[":path"])];
    const fault = this.faultOf(method, path);
    this.requests.push({ method, path, atMs: performance.now(), fault });
    if (fault?.kind === "status") return refuse(stream, fault);
    if (fault?.kind === "delay") await setTimeout(fault.delayMs);
    if (!stream.destroyed) this.#forward(stream, headers, NO_CONTENT.has(method));
  }

  #forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, endStream: boolean): void {
    const { ":authority": _, ...rest } = headers;
    const identity = { "x-remote-user": this.#user, "x-remote-group": "system:nodes" };
    const request = this.#session().request({ ...rest, ...identity }, { endStream });
    request.on("response", (head) => {
      if (!stream.destroyed) stream.respond(head);
      request.pipe(stream);
    });
    request.on("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    stream.on("close", () => request.close(constants.NGHTTP2_CANCEL));
    if (!endStream) stream.pipe(request);
  }

  #session(): ClientHttp2Session {
    if (this.#upstream === undefined || this.#upstream.closed || this.#upstream.destroyed) {
      this.#upstream = this.#connectUpstream();
      this.#upstream.on("error", () => {}); // Each request on the session emits the error too.
    }
    return this.#upstream;
  }
}

function refuse(stream: ServerHttp2Stream, { status, retryAfterSeconds }: Extract<ApiFault, { kind: "status" }>): void {
  const head = {
    ":status": status,
    "content-type": "application/json",
    ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
  };
  stream.respond(head);
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", reason: REASONS[status], code: status };
  stream.end(JSON.stringify({ ...body, message: "the proxy answers in the API server's place" }));
}

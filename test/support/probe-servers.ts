/** Applications that answer probes on ports of this machine, as `test/contract/prober-contract.ts` describes. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createGrpcServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Echo } from "../contract/prober-contract.ts";
import { TestCertificates } from "./test-certificates.ts";

const HOST = "127.0.0.1";

export interface ProbeServers extends AsyncDisposable {
  readonly host: string;
  readonly ports: Readonly<Record<"http" | "https" | "grpc" | "noHealth" | "nobody", number>>;
}

export async function openProbeServers(): Promise<ProbeServers> {
  await using certificates = await TestCertificates.in();
  const { certificatePem: cert, keyPem: key } = await certificates.selfSigned({ subject: "/CN=nobody" });
  const servers = {
    http: createServer(answerPage),
    https: createSecureServer({ cert, key }, answerPage),
    grpc: createGrpcServer().on("stream", answerHealth),
    noHealth: createGrpcServer().on("stream", refuseHealth),
  };
  const open = Object.values(servers).map(listening);
  const ports = {
    http: await portOf(servers.http),
    https: await portOf(servers.https),
    grpc: await portOf(servers.grpc),
    noHealth: await portOf(servers.noHealth),
    nobody: 1,
  };
  return {
    host: HOST,
    ports,
    [Symbol.asyncDispose]: async () => void (await Promise.all(open.map((close) => close()))),
  };
}

function listening(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    // Probing clients reset their connections.
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, HOST);
  return async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
}

async function portOf(server: Server): Promise<number> {
  if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

const BODIES: Readonly<Record<string, string>> = { "/large": "x".repeat(20_000) };
const PLACES: Readonly<Record<string, string>> = {
  "/moved": "/echo",
  "/circle": "/circle",
  "/away": "http://other.example/",
};

function answerPage(request: IncomingMessage, response: ServerResponse): void {
  const { url: target = "" } = request;
  const page = target.replace(/\?.*$/, "");
  const [, status] = /^\/status\/(\d+)$/.exec(page) ?? [];
  const location = PLACES[page];
  if (status !== undefined) response.writeHead(Number(status)).end("told");
  else if (location !== undefined) response.writeHead(302, { location }).end("told");
  else if (page === "/echo") response.end(JSON.stringify(echoOf(request)));
  else if (page === "/half") response.writeHead(200, { "content-length": 10 }).write("ab");
  else if (page === "/closed") request.socket.destroy();
  else if (page !== "/slow") response.writeHead(BODIES[page] === undefined ? 404 : 200).end(BODIES[page]);
}

function echoOf({ method = "", url: target = "", rawHeaders }: IncomingMessage): Echo {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  const headers = names.map((name, index) => [name.toLowerCase(), rawHeaders[index * 2 + 1] ?? ""] as const);
  return { method, target, headers };
}

function answerHealth(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const chunks: Buffer[] = [];
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    // The five bytes of the message header, then the field's tag, its length and its text.
    const service = Buffer.concat(chunks).subarray(7).toString();
    const isAgent = headers["user-agent"] === "kube-probe/1.36";
    if (service === "silent") return;
    if (service === "sick") answer(stream, 2);
    else if (service === "" || service === "well" || (service === "agent" && isAgent)) answer(stream, 1);
    else refuse(stream, 5, "unknown service");
  });
}

const refuseHealth = (stream: ServerHttp2Stream) => refuse(stream, 12, "unknown service grpc.health.v1.Health");

function answer(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(Buffer.from([0, 0, 0, 0, 2, 0x08, status]));
}

function refuse(stream: ServerHttp2Stream, code: number, message: string): void {
  stream.on("error", () => {});
  const reported = { "grpc-status": String(code), "grpc-message": message };
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...reported }, { endStream: true });
}

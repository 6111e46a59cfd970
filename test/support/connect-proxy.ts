/**
 * An HTTP proxy that knows only CONNECT: in a test's own process, or as a program, `node connect-proxy.ts PORT FILE`,
 * which adds a line with the target to FILE for each connection.
 */
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy {
  readonly url: URL;
  /** Destroys every connection; new ones are accepted. */
  cut(): void;
  close(): void;
}

export interface ConnectProxyOptions {
  readonly port?: number;
  readonly onConnect: (target: string, login: string | undefined) => void;
  /** Answers instead of connecting. */
  readonly answer?: (socket: Socket) => void;
  /** Where connections go, whatever their target is: as the proxy of a network with its own names. */
  readonly onwardPort?: number;
  /** Clients connect by TLS. */
  readonly serving?: { readonly certificatePem: string; readonly keyPem: string };
}

export async function connectProxy({
  port = 0,
  onConnect,
  answer,
  ...options
}: ConnectProxyOptions): Promise<ConnectProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // Its other end is closed with it.
    socket.on("close", () => sockets.delete(socket));
  };
  const { onwardPort, serving } = options;
  const server =
    serving === undefined ? createServer() : createTlsServer({ cert: serving.certificatePem, key: serving.keyPem });
  server.on("request", (_, response) => response.writeHead(405).end());
  server.on("connect", ({ url = "", headers }, socket: Socket, head: Buffer) => {
    keep(socket);
    onConnect(url, headers["proxy-authorization"]);
    if (answer !== undefined) {
      answer(socket);
      return;
    }
    const { hostname, port } = new URL(`tcp://${url}`);
    const onward = connect(onwardPort ?? Number(port), onwardPort === undefined ? hostname : "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    keep(onward);
    onward.on("close", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: new URL(`${serving === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`),
    cut,
    close() {
      server.close();
      cut();
    },
  };
}

if (import.meta.main) {
  const [port, file = ""] = process.argv.slice(2);
  await connectProxy({ port: Number(port), onConnect: (target) => appendFileSync(file, `${target}\n`) });
}

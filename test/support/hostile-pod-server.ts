/**
 * Hostile responses of a pod to its probes, in its own process: `node hostile-pod-server.ts <address> <grpc port> <http
 * port>`. The gRPC server answers one call with an endless stream of messages. The HTTP server sends an endless header,
 * each byte in its own packet, as fast as it can.
 */
import { createServer as createGrpcServer, type ServerHttp2Stream } from "node:http2";
import { createServer, type Socket } from "node:net";

const [, , address, grpcPort, httpPort] = process.argv;
/** Messages without content: five bytes each. */
const MESSAGES = Buffer.alloc(5 * 10_000);
const PACKETS_AT_ONCE = 50;

const grpc = createGrpcServer();
grpc.on("sessionError", () => {});
grpc.on("stream", (stream: ServerHttp2Stream) => {
  stream.on("error", () => {});
  stream.respond({ ":status": 200, "content-type": "application/grpc" });
  const pour = (): void => {
    if (stream.destroyed) return;
    if (stream.write(MESSAGES)) setImmediate(pour);
    else stream.once("drain", pour);
  };
  pour();
});
grpc.listen(Number(grpcPort), address);

const http = createServer((socket: Socket) => {
  socket.on("error", () => {});
  socket.setNoDelay(true).resume();
  socket.write("HTTP/1.1 200 OK\r\nX: ");
  const trickle = (): void => {
    if (socket.destroyed) return;
    for (let sent = 0; sent < PACKETS_AT_ONCE; sent += 1) socket.write("x");
    if (socket.writableNeedDrain) socket.once("drain", trickle);
    else setTimeout(trickle, 1);
  };
  trickle();
});
http.listen(Number(httpPort), address);

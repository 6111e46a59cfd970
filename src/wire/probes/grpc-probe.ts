/**
 * One grpc.health.v1 Check on its own connection. Its two messages are a text and a number, so they are encoded and
 * decoded here; framing and the end of a call come from `wire/grpc`.
 */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { Socket } from "node:net";
import { hostAndPort } from "../../domain/probes/container-port.ts";
import { type GrpcHealth, ProbeError, type ProbeTarget } from "../../ports/prober.ts";
import { CallEnd } from "../grpc/call-end.ts";
import { frame } from "../grpc/frames.ts";
import { RPC_CODE, RpcError } from "../grpc/rpc-channel.ts";
import { UnaryAnswer } from "../grpc/unary-answer.ts";
import { HEALTH_MESSAGE_BYTES_MAX } from "../limits.ts";
import { hangUp } from "./dialing.ts";

const STATUSES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/**
 * Resolves once the other side has shown that it speaks HTTP/2: gRPC counts no connection as established earlier.
 * Rejects with a `ProbeError` or the signal's reason.
 */
export function openSession(socket: Socket, signal: AbortSignal): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect("http://localhost", { createConnection: () => socket, settings: { enablePush: false } });
    const end = (act: () => void) => {
      signal.removeEventListener("abort", onAbort);
      session.off("close", onClose);
      act();
    };
    const onAbort = () => end(() => reject(signal.reason));
    const onClose = () =>
      end(() => reject(new ProbeError("connect", "theirs", "connection closed before server preface received")));
    signal.addEventListener("abort", onAbort, { once: true });
    // An error that breaks the session also closes it.
    session.on("error", () => {});
    session.once("close", onClose);
    session.once("remoteSettings", () => end(() => resolve(session)));
    if (signal.aborted) onAbort();
  });
}

/** Rejects only with the signal's reason: anything else that happens is the server's answer. */
export function check(
  session: ClientHttp2Session,
  target: ProbeTarget,
  { service, userAgent }: { readonly service: string; readonly userAgent: string },
  signal: AbortSignal,
): Promise<GrpcHealth> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":authority": hostAndPort(target.host, target.port),
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      "user-agent": userAgent,
      te: "trailers",
    });
    const call = new CallEnd(stream, session, () => false);
    const answer = new UnaryAnswer(HEALTH_MESSAGE_BYTES_MAX);
    let trouble: RpcError | undefined;
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    stream.on("data", (chunk: Buffer) => {
      try {
        answer.read(chunk);
      } catch (error) {
        trouble = error instanceof RpcError ? error : new RpcError(RPC_CODE.internal, String(error));
        stream.close(constants.NGHTTP2_CANCEL);
      }
    });
    stream.on("close", () => {
      signal.removeEventListener("abort", onAbort);
      const failure = trouble ?? call.failure();
      const { message } = answer;
      if (failure !== undefined) resolve({ kind: "refused", code: failure.code, message: failure.message });
      else if (message === undefined) resolve({ kind: "refused", code: RPC_CODE.internal, message: "no message" });
      else resolve({ kind: "status", status: readStatus(message) });
    });
    stream.end(frame(writeService(service)));
  });
}

export function closeSession(session: ClientHttp2Session | undefined, socket: Socket): void {
  socket.on("error", () => {});
  hangUp(socket);
  session?.destroy();
}

/** Field 1, a text. */
function writeService(service: string): Uint8Array {
  const text = Buffer.from(service);
  return text.length === 0 ? new Uint8Array() : Buffer.concat([Buffer.from([0x0a]), varint(text.length), text]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    bytes.push(left < 128 ? left : (left % 128) + 128);
    if (left < 128) return Buffer.from(bytes);
  }
}

/** Field 1, a number. A missing field is 0, and a number without a name is returned as text. */
function readStatus(message: Buffer): string {
  const status = message[0] === 0x08 ? (message[1] ?? 0) : 0;
  return STATUSES[status] ?? String(status);
}

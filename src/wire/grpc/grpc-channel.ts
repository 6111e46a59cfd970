/**
 * `RpcChannel` over HTTP/2 on a unix socket: calls with one request, and one answer or a stream of them. It is all of gRPC that a
 * kubelet's client side needs, at half the CPU of a general client (docs/decisions/0003).
 *
 * Deadlines are the caller's (a signal), not gRPC's. There is one connection, made by the first call that finds none: a unix socket
 * answers or refuses at once, so a call made while the other side is down fails at once with "unavailable", and the next one tries anew.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { connect as connectSocket } from "node:net";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { CallEnd } from "./call-end.ts";
import { FrameReader, frame } from "./frames.ts";
import { RPC_CODE, type RpcChannel, RpcError } from "./rpc-channel.ts";

export interface GrpcChannelOptions {
  /** "unix:///path" */
  readonly endpoint: string;
  readonly messageBytesMax: number;
}

/** Above a few large messages at once; a session over it refuses new calls. */
const SESSION_MEGABYTES_MAX = 256;
const SCHEME = "unix:";

export function openGrpcChannel({ endpoint, messageBytesMax }: GrpcChannelOptions): RpcChannel {
  if (!endpoint.startsWith(SCHEME)) throw new Error(`not the address of a unix socket: ${endpoint}`);
  const path = endpoint.slice(SCHEME.length).replace(/^\/\/(?=\/)/, "");
  let session: ClientHttp2Session | undefined;
  let closed = false;

  const connected = (): ClientHttp2Session => {
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    session = openSession(path);
    return session;
  };

  /** The call, on its way; or the reason why it is not made at all. */
  const begin = <I extends DescMessage>(
    method: DescMethod & { readonly input: I },
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): { readonly stream: ClientHttp2Stream; readonly end: CallEnd } => {
    signal.throwIfAborted();
    if (closed) throw new RpcError(RPC_CODE.unavailable, "the client is closed");
    const bytes = encode(method, request, messageBytesMax);
    const used = connected();
    const stream = used.request({
      ":method": "POST",
      // grpc-go servers refuse odd authorities, such as a socket's path.
      ":authority": "localhost",
      ":path": `/${method.parent.typeName}/${method.name}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const end = new CallEnd(stream, used, () => closed);
    stream.end(bytes);
    return { stream, end };
  };

  return {
    unary: (method, request, signal) =>
      new Promise((resolve, reject) => {
        const { stream, end } = begin(method, request, signal);
        const reader = new FrameReader(messageBytesMax);
        const onAbort = () => {
          stream.close(constants.NGHTTP2_CANCEL);
          reject(signal.reason);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        const messages: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => {
          try {
            messages.push(...reader.read(chunk));
          } catch (error) {
            reject(error);
            stream.close(constants.NGHTTP2_CANCEL);
          }
        });
        stream.on("close", () => {
          signal.removeEventListener("abort", onAbort);
          const failure = end.failure();
          const [message] = messages;
          if (failure !== undefined) reject(failure);
          else if (message === undefined) reject(new RpcError(RPC_CODE.internal, "the call ended without an answer"));
          else settle(() => decode(method, message), resolve, reject);
        });
      }),

    serverStream: (method, request, signal) => {
      const { stream, end } = begin(method, request, signal);
      return readStream(stream, end, new FrameReader(messageBytesMax), (message) => decode(method, message), signal);
    },

    close: () => {
      closed = true;
      session?.destroy();
    },
  };
}

function openSession(path: string): ClientHttp2Session {
  const session = connect("http://localhost", {
    createConnection: () => connectSocket({ path }),
    maxSessionMemory: SESSION_MEGABYTES_MAX,
    settings: { enablePush: false },
  });
  // What breaks a session breaks its calls too, and they tell.
  session.on("error", () => {});
  return session;
}

function encode<I extends DescMessage>(
  method: DescMethod & { readonly input: I },
  request: MessageInitShape<I>,
  bytesMax: number,
): Buffer {
  let bytes: Uint8Array;
  try {
    bytes = toBinary(method.input, create(method.input, request));
  } catch (error) {
    const detail = error instanceof Error ? error.message : "the request cannot be encoded";
    throw new RpcError(RPC_CODE.invalidArgument, detail);
  }
  if (bytes.length <= bytesMax) return frame(bytes);
  throw new RpcError(RPC_CODE.resourceExhausted, `a request of ${bytes.length} bytes is over the limit of ${bytesMax}`);
}

/** What is not known is not kept: answers are translated at once and dropped. */
const READ = { readUnknownFields: false } as const;

function decode<O extends DescMessage>(method: DescMethod & { readonly output: O }, message: Buffer) {
  try {
    return fromBinary(method.output, message, READ);
  } catch (error) {
    throw new RpcError(RPC_CODE.internal, error instanceof Error ? error.message : "the answer cannot be read");
  }
}

function settle<T>(make: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): void {
  try {
    resolve(make());
  } catch (error) {
    reject(error);
  }
}

/** The stream's messages under back-pressure. The abort is listened to before anyone reads. */
function readStream<T>(
  stream: ClientHttp2Stream,
  end: CallEnd,
  reader: FrameReader,
  read: (message: Buffer) => T,
  signal: AbortSignal,
): AsyncIterable<T> {
  const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener("abort", onAbort, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", onAbort));

  return (async function* () {
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        for (const message of reader.read(chunk)) yield read(message);
      }
    } catch (error) {
      signal.throwIfAborted();
      // What broke the stream is told by how the call ended; everything else is the error itself.
      if (error instanceof RpcError) throw error;
    } finally {
      stream.close(constants.NGHTTP2_CANCEL);
    }
    signal.throwIfAborted();
    await end.closed;
    const failure = end.failure();
    if (failure !== undefined) throw failure;
  })();
}
